import type { ConsumerDefinition } from '@eligo/events';
import { noteRenewal } from '../actions/note-renewal.ts';

/** Billing's word on subscriptions: the sessions that sold them show when they renew. */
export const renewals: ConsumerDefinition = {
  consumer: 'renewals',
  subscriptions: [{ from: 'billing', types: ['customer.subscription.updated', 'customer.subscription.deleted'] }],
  async handle(tx, event) {
    if (event.object.case !== 'subscription') return;
    const scope = { accountId: event.accountId, testMode: event.testMode };
    await noteRenewal(tx, scope, event.object.value, { id: event.aggregateId, seq: event.aggregateSeq });
  },
};
