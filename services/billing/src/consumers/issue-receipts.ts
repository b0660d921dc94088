import type { ConsumerDefinition } from '@eligo/events';
import { issueReceipt } from '../actions/issue-receipt.ts';
import { issueRefundReceipt } from '../actions/issue-refund-receipt.ts';

/** Checkout's commands to issue the receipt of a session that has just been completed, and of a refund. */
export const issueReceipts: ConsumerDefinition = {
  consumer: 'issue-receipts',
  subscriptions: [{ from: 'checkout', types: ['command.receipt.issue', 'command.receipt.refund'] }],
  async handle(tx, event) {
    const scope = { accountId: event.accountId, testMode: event.testMode };
    if (event.object.case === 'issueReceipt') await issueReceipt(tx, scope, event.object.value);
    if (event.object.case === 'issueRefundReceipt') await issueRefundReceipt(tx, scope, event.object.value);
  },
};
