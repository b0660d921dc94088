import { renderTimeline, routes } from '@eligo/contract';
import { type Binding, bind } from '../bind.ts';
import { hasScope } from '../http/authorize.ts';
import type { Peers } from '../peers.ts';

// The latest of each kind; the lists of refunds and of deliveries have the others.
const mostRefunds = 50n;
const mostEntries = 200;

/** What happened to a session and why: one read of each service. A key sees the kinds of records that it may read. */
export function sessionTimelineBindings({ checkout, refunds, webhooks }: Peers): Binding[] {
  return [
    bind(routes.checkoutSessions.timeline, async ({ id, key, call }) => {
      const [told, refunded] = await Promise.all([
        checkout.getSessionTimeline({ id }, call),
        hasScope(key, 'refunds_read')
          ? refunds.listRefunds({ page: { limit: mostRefunds }, checkoutSessionId: id }, call)
          : { refunds: [], hasMore: false },
      ]);
      const entries = hasScope(key, 'letters_read')
        ? told.entries
        : told.entries
            .filter(({ type }) => !type.startsWith('letter.'))
            .map((entry) => (entry.code?.startsWith('letter_') === true ? { ...entry, code: undefined } : entry));
      const recordIds = new Set([
        id,
        ...entries.map(({ recordId }) => recordId),
        ...refunded.refunds.map(({ refundId }) => refundId),
      ]);
      const sent = hasScope(key, 'events_read')
        ? await webhooks.listEventsOfRecords({ recordIds: [...recordIds] }, call)
        : { events: [], hasMore: false };
      const timeline = renderTimeline({ entries, refunds: refunded.refunds, events: sent.events }, mostEntries);
      const hasMore = told.hasMore || refunded.hasMore || sent.hasMore || timeline.isCut;
      return { timeline: timeline.entries, has_more: hasMore };
    }),
  ];
}
