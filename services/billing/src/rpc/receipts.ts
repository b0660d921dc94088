import { Failure } from '@eligo/failures';
import { pageOf, type Scope } from '@eligo/postgres';
import type { BillingService } from '@eligo/proto/billing/v1/billing';
import type { Implementation } from '@eligo/rpc';
import { receiptDocuments } from '../actions/receipt-documents.ts';
import { resendReceipts } from '../actions/resend-receipts.ts';
import type { Context } from '../context.ts';
import type { MailedReceipt } from '../domain/receipt.ts';
import { receiptMessage } from '../messages/receipt.ts';
import { findReceipt, listReceipts } from '../store/receipts.ts';

/** Receipts: read, and mailed again. */
export function receiptHandlers(context: Context): Implementation<typeof BillingService> {
  const { database } = context;
  const find = async (scope: Scope, id: string): Promise<MailedReceipt> => {
    const receipt = await findReceipt(database, scope, id);
    if (receipt === undefined) throw new Failure('receipt_not_found');
    return receipt;
  };
  return {
    async getReceipt({ id }, { scope }) {
      return receiptMessage(scope, await find(scope, id));
    },

    async listReceipts({ page, checkoutSessionId, subscriptionId, refundId }, { scope }) {
      const of = { checkoutSessionId, subscriptionId, refundId };
      const { receipts, hasMore } = await listReceipts(database, scope, pageOf(page), of);
      return { receipts: receipts.map((receipt) => receiptMessage(scope, receipt)), hasMore };
    },

    async getReceiptDocument({ id }, { scope }) {
      const { html, pdf } = await receiptDocuments(database, scope, await find(scope, id));
      return { html, pdf: new Uint8Array(pdf) };
    },

    async resendReceipts({ subscriptionId }, { scope }) {
      return { receiptIds: await resendReceipts(context, scope, subscriptionId) };
    },
  };
}
