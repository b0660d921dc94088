import type { ConsumerDefinition } from '@eligo/events';
import { issueReceipt } from '../actions/issue-receipt.ts';
import { issueRefundReceipt } from '../actions/issue-refund-receipt.ts';

/** Checkout's command to issue the receipt of a session that has just been completed. */
export const issueReceipts: ConsumerDefinition = {
  consumer: 'issue-receipts',
  subscriptions: [{ from: 'checkout', types: ['command.receipt.issue'] }],
  async handle(tx, event) {
    if (event.object.case !== 'issueReceipt') return;
    await issueReceipt(tx, { accountId: event.accountId, testMode: event.testMode }, event.object.value);
  },
};

/**
 * Checkout's command to issue the receipt of a refund. A consumer of its own: one for both types would be given every event of checkout, and a replica of an
 * earlier release would recreate its durable with the filter that it knows.
 */
export const issueRefundReceipts: ConsumerDefinition = {
  consumer: 'issue-refund-receipts',
  subscriptions: [{ from: 'checkout', types: ['command.receipt.refund'] }],
  async handle(tx, event) {
    if (event.object.case !== 'issueRefundReceipt') return;
    await issueRefundReceipt(tx, { accountId: event.accountId, testMode: event.testMode }, event.object.value);
  },
};
