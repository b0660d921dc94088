import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { CheckoutService, ListSessionsRequest, UpdateSessionRequest } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { createSession } from '../actions/create-session.ts';
import { cancelByPartner, cancelByShopper, expireByPartner } from '../actions/end-by-partner.ts';
import { readLineItems } from '../actions/read-line-items.ts';
import { type SessionChange, updateSession } from '../actions/update-session.ts';
import type { Context } from '../context.ts';
import { lineStandingMessage } from '../messages/line-item.ts';
import { sessionMessage } from '../messages/session.ts';
import { timelineEntryMessage } from '../messages/session-timeline.ts';
import { type SessionFilter, streamSessions } from '../store/session-list.ts';
import { readSessionTimeline } from '../store/session-timeline.ts';
import { loadSession } from '../store/sessions.ts';
import { pageOfList } from './page-of-list.ts';
import { sessionRequestOf, storefrontDetailsOf } from './session-request.ts';

/** Sessions: created, read, updated and ended. What charges them is in charging.ts. */
export function sessionHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database, clock } = context;
  return {
    async createSession(request, call) {
      return sessionMessage(call.scope, await createSession(context, call, sessionRequestOf(request)));
    },

    async getSession({ id }, { scope }) {
      const session = await loadSession(database, scope, id);
      if (session === undefined) throw new Failure('checkout_session_not_found');
      return sessionMessage(scope, session);
    },

    async *listSessions(request, { scope }) {
      const sessions = streamSessions(database, scope, pageOf(request.page), filterOf(request, clock.now()));
      for (let next = await sessions.next(); ; next = await sessions.next()) {
        if (next.done === true) {
          yield { item: { case: 'end', value: { hasMore: next.value } } };
          return;
        }
        yield { item: { case: 'session', value: sessionMessage(scope, next.value) } };
      }
    },

    async listLineItems({ sessionId, page }, { scope }) {
      const all = await readLineItems(context, scope, sessionId);
      const { items, hasMore } = pageOfList(all, pageOf(page));
      return { lineItems: items.map(lineStandingMessage), hasMore };
    },

    async getSessionTimeline({ id }, { scope }) {
      const timeline = await readSessionTimeline(database, scope, id);
      if (timeline === undefined) throw new Failure('checkout_session_not_found');
      return { entries: timeline.entries.map(timelineEntryMessage), hasMore: timeline.hasMore };
    },

    async updateSession(request, { scope }) {
      return sessionMessage(scope, await updateSession(context, scope, request.id, changeOf(request)));
    },

    async cancelSession({ id, onlyOpen }, { scope }) {
      const cancel = onlyOpen ? cancelByShopper : cancelByPartner;
      return sessionMessage(scope, await cancel(context, scope, id));
    },

    async expireSession({ id }, { scope }) {
      return sessionMessage(scope, await expireByPartner(context, scope, id));
    },
  };
}

const DAY_MS = 86_400_000;

function filterOf(request: ListSessionsRequest, now: Date): SessionFilter {
  const { status, mode, customerId, customerEmail, subscriptionId, clientReferenceId, paymentIntentId } = request;
  const since =
    request.intervalDays === undefined ? undefined : new Date(now.getTime() - request.intervalDays * DAY_MS);
  const from = dateOf(request.createdGteMs);
  return {
    ...{ status, mode, customerId, customerEmail, subscriptionId, clientReferenceId, paymentIntentId },
    sellingPlan: request.sellingPlan,
    disputed: request.disputed,
    createdAfter: dateOf(request.createdGtMs),
    createdAtOrAfter: since === undefined || (from !== undefined && from > since) ? from : since,
    createdBefore: dateOf(request.createdLtMs),
    createdAtOrBefore: dateOf(request.createdLteMs),
  };
}

function dateOf(ms: bigint | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(Number(ms));
}

function changeOf(request: UpdateSessionRequest): SessionChange {
  const { metadata, clientReferenceId } = request;
  const storefrontPaymentDetails = storefrontDetailsOf(request.storefrontPaymentDetails);
  return {
    ...(metadata === undefined ? {} : { metadata: metadata.entries }),
    ...(clientReferenceId === undefined ? {} : { clientReferenceId }),
    ...(storefrontPaymentDetails === undefined ? {} : { storefrontPaymentDetails }),
  };
}
