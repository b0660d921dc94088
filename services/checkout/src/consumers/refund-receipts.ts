import type { ConsumerDefinition } from '@eligo/events';
import { askForRefundReceipt } from '../actions/refund-receipt-command.ts';

/** Refunds' word on a refund of a session: the shopper gets a receipt of it, once it is decided and whenever less of it stands. */
export const refundReceipts: ConsumerDefinition = {
  consumer: 'refund-receipts',
  subscriptions: [{ from: 'refunds', types: ['refund.updated'] }],
  async handle(tx, event) {
    if (event.object.case !== 'refund') return;
    const scope = { accountId: event.accountId, testMode: event.testMode };
    await askForRefundReceipt(tx, scope, event.object.value, new Date(Number(event.occurredAtMs)));
  },
};
