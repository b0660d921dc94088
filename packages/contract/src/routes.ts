import type { ExpandableKind } from './expansion.ts';
import type { Route } from './route.ts';
import { balanceTransactionRoutes } from './routes/balance-transactions.ts';
import { invoiceRoutes, subscriptionRoutes } from './routes/billing.ts';
import { captureRoutes } from './routes/captures.ts';
import { checkoutSessionRoutes } from './routes/checkout-sessions.ts';
import { couponRoutes } from './routes/coupons.ts';
import { customerRoutes } from './routes/customers.ts';
import { disputeRoutes } from './routes/disputes.ts';
import { eligibilityRoutes } from './routes/eligibility.ts';
import { fileRoutes } from './routes/files.ts';
import { letterRoutes } from './routes/letters.ts';
import { paymentLinkRoutes } from './routes/payment-links.ts';
import { paymentMethodRoutes } from './routes/payment-methods.ts';
import { chargeRoutes, paymentIntentRoutes, setupIntentRoutes } from './routes/payments.ts';
import { payoutRoutes } from './routes/payouts.ts';
import { priceRoutes } from './routes/prices.ts';
import { productComponentRoutes } from './routes/product-components.ts';
import { productRoutes } from './routes/products.ts';
import { promoCodeRoutes } from './routes/promo-codes.ts';
import { receiptRoutes } from './routes/receipts.ts';
import { refundRoutes } from './routes/refunds.ts';
import { reportRoutes } from './routes/reports.ts';
import { shippingRateRoutes } from './routes/shipping-rates.ts';
import { testHelperRoutes } from './routes/test-helpers.ts';
import { eventRoutes, webhookRoutes } from './routes/webhooks.ts';

/** Every public endpoint, by resource. */
export const routes = {
  shippingRates: shippingRateRoutes,
  productComponents: productComponentRoutes,
  products: productRoutes,
  prices: priceRoutes,
  coupons: couponRoutes,
  promoCodes: promoCodeRoutes,
  eligibility: eligibilityRoutes,
  customers: customerRoutes,
  paymentMethods: paymentMethodRoutes,
  checkoutSessions: checkoutSessionRoutes,
  paymentLinks: paymentLinkRoutes,
  paymentIntents: paymentIntentRoutes,
  setupIntents: setupIntentRoutes,
  charges: chargeRoutes,
  balanceTransactions: balanceTransactionRoutes,
  payouts: payoutRoutes,
  reports: reportRoutes,
  captures: captureRoutes,
  disputes: disputeRoutes,
  letters: letterRoutes,
  refunds: refundRoutes,
  subscriptions: subscriptionRoutes,
  invoices: invoiceRoutes,
  receipts: receiptRoutes,
  files: fileRoutes,
  webhooks: webhookRoutes,
  events: eventRoutes,
  testHelpers: testHelperRoutes,
} as const;

/** Every public endpoint, in one list. */
export const allRoutes: readonly Route[] = Object.values(routes).flatMap((resource) => Object.values<Route>(resource));

/** Every scope that a key can carry: reading and writing of each resource that a route asks for. */
export const scopes: readonly string[] = [...new Set(allRoutes.map((route) => route.scope))]
  .map((scope) => scope.slice(0, scope.lastIndexOf('_')))
  .filter((resource, index, all) => all.indexOf(resource) === index)
  .flatMap((resource) => [`${resource}_read`, `${resource}_write`])
  .sort();

/** The scope of a read of this kind of record by its id. An answer shows an expanded record only to a key that has it (decisions 3.7). */
export function readScopeOf(kind: ExpandableKind): string {
  const scope = readScopes.get(kind);
  if (scope === undefined) throw new Error(`No route reads a ${kind}`);
  return scope;
}

/** A scope as it is kept, or undefined when there is none of that name: `files:read` is accepted for `files_read` (decisions 2). */
export function scopeOf(name: string): string | undefined {
  const scope = name.replace(':', '_');
  return scopes.includes(scope) ? scope : undefined;
}

const readScopes: ReadonlyMap<string, string> = new Map(
  allRoutes.flatMap(({ method, path, params, scope }) => {
    const [kind] = Object.values(params);
    return method === 'GET' && kind !== undefined && path.endsWith('}') ? [[kind, scope]] : [];
  }),
);
