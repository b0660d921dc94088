import { type ExpandableKind, expansionOf, type JsonObject, records, routes } from '@eligo/contract';
import type { ConfirmSessionResponse } from '@eligo/proto/checkout/v1/checkout';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { StreamedAnswer } from '../http/api-request.ts';
import { moneyCall } from '../http/call-budget.ts';
import { inFlightUnderKey } from '../http/in-flight-under-key.ts';
import { metadataOf, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';
import { sessionCreationOf, storefrontDetailsOf } from './session-creation.ts';
import { sessionPieces } from './session-list.ts';

export function checkoutSessionBindings(peers: Peers, answers: Answers): Binding[] {
  const { checkout } = peers;
  const { list, create, get, update, listLineItems, confirm, cancel, expire } = routes.checkoutSessions;
  return [
    bind(list, async (request) => new StreamedAnswer(sessionPieces(peers, answers, request))),
    bind(create, async (request) => {
      const { idempotency } = request;
      const { features, accountName } = request.key;
      // A plan reimburses what a receipt lists, so that mode has one whatever the shop sends itself.
      const hasReceipt = features.includes('receipts') || request.body.mode === 'reimbursement';
      const receiptMerchantName = hasReceipt ? accountName : undefined;
      const message = {
        ...sessionCreationOf(request.body, request.headers.origin),
        ...given({ idempotency, receiptMerchantName }),
      };
      return answers.one(request, 'checkout_session', await checkout.createSession(message, moneyCall(request.call)));
    }),
    bind(get, async (request) =>
      answers.one(request, 'checkout_session', await checkout.getSession({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { metadata, client_reference_id, shopify_payment_details: details } = request.body;
      const message = {
        id: request.id,
        ...given({
          metadata: metadataOf(metadata),
          clientReferenceId: client_reference_id,
          storefrontPaymentDetails: details === undefined ? undefined : storefrontDetailsOf(details),
        }),
      };
      return answers.one(request, 'checkout_session', await checkout.updateSession(message, request.call));
    }),
    bind(listLineItems, async (request) => {
      const message = { sessionId: request.id, page: pageOf(request.query) };
      const page = await checkout.listLineItems(message, request.call);
      return answers.list(request, 'line_item', page.lineItems, page.hasMore);
    }),
    bind(confirm, async (request) => {
      const { payment_method, capture_method } = request.body;
      const { idempotency, expand, id } = request;
      const message = {
        id,
        expand: [...expand],
        ...given({ paymentMethodId: payment_method, captureMethod: capture_method, idempotency }),
      };
      const answer = checkout.confirmSession(message, moneyCall(request.call));
      return confirmed(await inFlightUnderKey(request, answer), expand);
    }),
    bind(cancel, async (request) =>
      answers.one(
        request,
        'checkout_session',
        await checkout.cancelSession({ id: request.id }, moneyCall(request.call)),
      ),
    ),
    bind(expire, async (request) =>
      answers.one(
        request,
        'checkout_session',
        await checkout.expireSession({ id: request.id }, moneyCall(request.call)),
      ),
    ),
  ];
}

/**
 * The payment intent always stands in the answer (interface, confirm); what else is expanded was stored with it, so that a replay is equal. A
 * replay under a key with fewer scopes shows the identifiers of what that key may not read.
 */
function confirmed(answer: ConfirmSessionResponse, asked: ReadonlySet<string>): JsonObject {
  const { session, paymentIntent, customer, paymentMethod } = answer;
  if (session === undefined) throw new Error('The confirm response has no session');
  const found = new Map<ExpandableKind, Map<string, JsonObject>>();
  if (customer !== undefined && asked.has('customer')) {
    found.set('customer', new Map([[customer.customerId, records.customer.render(customer)]]));
  }
  if (paymentMethod !== undefined && asked.has('payment_method')) {
    const method = records.payment_method.render(paymentMethod);
    found.set('payment_method', new Map([[paymentMethod.paymentMethodId, method]]));
  }
  if (paymentIntent !== undefined) {
    // The session's customer is expanded on the session alone: one level deep.
    const within = new Map([...found].filter(([kind]) => kind === 'payment_method'));
    const intent = records.payment_intent.render(paymentIntent, expansionOf(asked, within));
    found.set('payment_intent', new Map([[paymentIntent.paymentIntentId, intent]]));
  }
  return { checkout_session: records.checkout_session.render(session, expansionOf(asked, found)) };
}
