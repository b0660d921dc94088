import { type ExpandableKind, type JsonObject, records } from '@eligo/contract';
import type { CallOptions } from '@eligo/rpc';
import type { Peers } from '../peers.ts';

/** The records of one kind by id, rendered, by one batch call; ids that are not the caller's are left out. */
export async function fetchReferences(
  peers: Peers,
  kind: ExpandableKind,
  ids: string[],
  call: CallOptions,
): Promise<ReadonlyMap<string, JsonObject>> {
  switch (kind) {
    case 'balance_transaction': {
      const { balanceTransactions } = await peers.refunds.batchGetBalanceTransactions({ ids }, call);
      const { render } = records.balance_transaction;
      return new Map(balanceTransactions.map((one) => [one.balanceTransactionId, render(one)]));
    }
    case 'capture': {
      const { captures } = await peers.checkout.batchGetCaptures({ ids }, call);
      return new Map(captures.map((capture) => [capture.captureId, records.capture.render(capture)]));
    }
    case 'customer': {
      const { customers } = await peers.checkout.batchGetCustomers({ ids }, call);
      return new Map(customers.map((customer) => [customer.customerId, records.customer.render(customer)]));
    }
    case 'payment_intent': {
      const { paymentIntents } = await peers.checkout.batchGetPaymentIntents({ ids }, call);
      return new Map(paymentIntents.map((intent) => [intent.paymentIntentId, records.payment_intent.render(intent)]));
    }
    case 'payment_method': {
      const { paymentMethods } = await peers.checkout.batchGetPaymentMethods({ ids }, call);
      return new Map(paymentMethods.map((method) => [method.paymentMethodId, records.payment_method.render(method)]));
    }
    case 'invoice': {
      const { invoices } = await peers.billing.batchGetInvoices({ ids }, call);
      return new Map(invoices.map((invoice) => [invoice.invoiceId, records.invoice.render(invoice)]));
    }
    case 'subscription': {
      const { subscriptions } = await peers.billing.batchGetSubscriptions({ ids }, call);
      return new Map(subscriptions.map((one) => [one.subscriptionId, records.subscription.render(one)]));
    }
    case 'price': {
      const { prices } = await peers.catalog.batchGetPrices({ ids }, call);
      return new Map(prices.map((price) => [price.priceId, records.price.render(price)]));
    }
    case 'product': {
      const { products } = await peers.catalog.batchGetProducts({ ids }, call);
      return new Map(products.map((product) => [product.productId, records.product.render(product)]));
    }
    case 'coupon': {
      const { coupons } = await peers.catalog.batchGetCoupons({ ids }, call);
      return new Map(coupons.map((coupon) => [coupon.couponId, records.coupon.render(coupon)]));
    }
  }
}
