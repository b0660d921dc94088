import { renderConsumerInvoice, routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { moneyCall } from '../http/call-budget.ts';
import { cents, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Subscriptions and invoices. */
export function billingBindings(peers: Peers, answers: Answers): Binding[] {
  const { billing } = peers;
  const { subscriptions, invoices } = routes;
  return [
    bind(subscriptions.list, async (request) => {
      const { query, call } = request;
      const filters = given({ customerId: query.customer, status: query.status });
      const page = await billing.listSubscriptions({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'subscription', page.subscriptions, page.hasMore);
    }),
    bind(subscriptions.get, async (request) =>
      answers.one(request, 'subscription', await billing.getSubscription({ id: request.id }, request.call)),
    ),
    bind(subscriptions.cancel, async (request) => {
      const { cancel_at_period_end = false, refund, refund_amount } = request.body;
      const message = {
        id: request.id,
        cancelAtPeriodEnd: cancel_at_period_end,
        ...given({ refund, refundAmountCents: cents(refund_amount) }),
      };
      return answers.one(request, 'subscription', await billing.cancelSubscription(message, moneyCall(request.call)));
    }),
    bind(invoices.list, async (request) => {
      const { query, call } = request;
      const page = await billing.listInvoices({ page: pageOf(query), ...given({ customerId: query.customer }) }, call);
      return answers.list(request, 'invoice', page.invoices, page.hasMore);
    }),
    bind(invoices.get, async (request) =>
      answers.one(request, 'invoice', await billing.getInvoice({ id: request.id }, request.call)),
    ),
    bind(invoices.listForConsumer, async (request) => {
      const { query, call } = request;
      const message = { page: pageOf(query), subscriptionId: request.id, invoiceIds: query.invoice_ids ?? [] };
      const page = await billing.listInvoices(message, call);
      // A list says nothing of what it belongs to: only an empty one leaves open whether the subscription is the caller's.
      if (page.invoices.length === 0) await billing.getSubscription({ id: request.id }, call);
      return { invoices: page.invoices.map(renderConsumerInvoice), has_more: page.hasMore };
    }),
  ];
}
