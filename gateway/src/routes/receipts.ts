import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

export function receiptBindings({ billing }: Peers, answers: Answers): Binding[] {
  const { list, get, getDocument } = routes.receipts;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const { checkout_session: checkoutSessionId, subscription: subscriptionId, refund: refundId } = query;
      const of = given({ checkoutSessionId, subscriptionId, refundId });
      const page = await billing.listReceipts({ page: pageOf(query), ...of }, call);
      return answers.list(request, 'receipt', page.receipts, page.hasMore);
    }),
    bind(get, async (request) =>
      answers.one(request, 'receipt', await billing.getReceipt({ id: request.id }, request.call)),
    ),
    bind(getDocument, async (request) => {
      const { html, pdf } = await billing.getReceiptDocument({ id: request.id }, request.call);
      return { receipt_document: { html, pdf: Buffer.from(pdf).toString('base64') } };
    }),
    bind(routes.subscriptions.resendReceipts, async (request) => {
      const { receiptIds } = await billing.resendReceipts({ subscriptionId: request.id }, request.call);
      return { receipt_ids: receiptIds };
    }),
  ];
}
