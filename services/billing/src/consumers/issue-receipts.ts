import type { ConsumerDefinition } from '@eligo/events';
import { issueReceipt } from '../actions/issue-receipt.ts';

/** Checkout's command to issue the receipt of a session that has just been completed. */
export const issueReceipts: ConsumerDefinition = {
  consumer: 'issue-receipts',
  subscriptions: [{ from: 'checkout', types: ['command.receipt.issue'] }],
  async handle(tx, event) {
    if (event.object.case !== 'issueReceipt') return;
    await issueReceipt(tx, { accountId: event.accountId, testMode: event.testMode }, event.object.value);
  },
};
