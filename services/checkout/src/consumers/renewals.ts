import type { ConsumerDefinition } from '@eligo/events';
import { endSetUp } from '../actions/end-set-up.ts';
import { noteRenewal } from '../actions/note-renewal.ts';
import type { Context } from '../context.ts';

/** Billing's word on subscriptions: the sessions that sold them show when they renew, and the set-up of one that has ended is canceled. */
export function renewals(context: Pick<Context, 'failpoint'>): ConsumerDefinition {
  return {
    consumer: 'renewals',
    subscriptions: [{ from: 'billing', types: ['customer.subscription.updated', 'customer.subscription.deleted'] }],
    async handle(tx, event) {
      if (event.object.case !== 'subscription') return;
      const scope = { accountId: event.accountId, testMode: event.testMode };
      await noteRenewal(tx, scope, event.object.value, { id: event.aggregateId, seq: event.aggregateSeq });
      await endSetUp(context, tx, scope, event.object.value);
    },
  };
}
