import { renderConsumerInvoice, routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { moneyCall } from '../http/call-budget.ts';
import { cents, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';
import { newSubscriptionOf, subscriptionChangeOf } from './subscription-messages.ts';

/** Subscriptions and invoices. */
export function billingBindings(peers: Peers, answers: Answers): Binding[] {
  const { billing } = peers;
  const { subscriptions, invoices } = routes;
  return [
    bind(subscriptions.create, async (request) => {
      const { idempotency } = request;
      const message = { ...newSubscriptionOf(request.body), ...given({ idempotency }) };
      return answers.one(request, 'subscription', await billing.createSubscription(message, moneyCall(request.call)));
    }),
    bind(subscriptions.list, async (request) => {
      const { query, call } = request;
      const filters = given({ customerId: query.customer, status: query.status });
      const page = await billing.listSubscriptions({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'subscription', page.subscriptions, page.hasMore);
    }),
    bind(subscriptions.get, async (request) =>
      answers.one(request, 'subscription', await billing.getSubscription({ id: request.id }, request.call)),
    ),
    bind(subscriptions.update, async (request) => {
      const message = { id: request.id, ...subscriptionChangeOf(request.body) };
      return answers.one(request, 'subscription', await billing.updateSubscription(message, moneyCall(request.call)));
    }),
    bind(subscriptions.pause, async (request) =>
      answers.one(request, 'subscription', await billing.pauseSubscription({ id: request.id }, request.call)),
    ),
    bind(subscriptions.resume, async (request) => {
      const message = { id: request.id, keepsAnchor: request.body.billing_cycle_anchor === 'unchanged' };
      return answers.one(request, 'subscription', await billing.resumeSubscription(message, moneyCall(request.call)));
    }),
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
    bind(invoices.pay, async (request) => {
      const message = { id: request.id, ...given({ paymentMethodId: request.body.payment_method }) };
      return answers.one(request, 'invoice', await billing.payInvoice(message, moneyCall(request.call)));
    }),
    bind(invoices.void, async (request) =>
      answers.one(request, 'invoice', await billing.voidInvoice({ id: request.id }, moneyCall(request.call))),
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
