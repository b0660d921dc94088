import { notFoundCodeOf } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { CallOptions } from '@eligo/rpc';
import type { IdKind } from '@eligo/values';
import type { Peers } from './peers.ts';

/**
 * Throws the 404 of a record that the caller does not have. Asked only when a request is about to be refused for its body, because a path that
 * names nothing goes before a body that is wrong (decisions 13, Order of refusals).
 */
export async function assertPresent(peers: Peers, kind: IdKind, id: string, call: CallOptions): Promise<void> {
  const look = looks[kind];
  if (look === undefined) throw new Error(`No presence check exists for a ${kind}`);
  if ((await look(peers, id, call)) === false) throw new Failure(notFoundCodeOf(kind));
}

/** Whether there is a way to ask for records of this kind. */
export function canLookUp(kind: IdKind): boolean {
  return looks[kind] !== undefined;
}

// Each rejects with the record's own 404, or says false where the call leaves out what is not the caller's.
const looks: Partial<Record<IdKind, (peers: Peers, id: string, call: CallOptions) => Promise<unknown>>> = {
  shipping_rate: ({ catalog }, id, call) => catalog.getShippingRate({ id }, call),
  product_component: ({ catalog }, id, call) => catalog.getComponent({ id }, call),
  product: ({ catalog }, id, call) => catalog.getProduct({ id }, call),
  // A sibling account's price can be read and not be changed: the batch has the caller's own alone.
  price: async ({ catalog }, id, call) => (await catalog.batchGetPrices({ ids: [id] }, call)).prices.length > 0,
  coupon: ({ catalog }, id, call) => catalog.getCoupon({ id }, call),
  promo_code: ({ catalog }, id, call) => catalog.getPromoCode({ id }, call),
  customer: ({ checkout }, id, call) => checkout.getCustomer({ id }, call),
  payment_method: ({ checkout }, id, call) => checkout.getPaymentMethod({ id }, call),
  checkout_session: ({ checkout }, id, call) => checkout.getSession({ id }, call),
  payment_intent: ({ checkout }, id, call) => checkout.getPaymentIntent({ id }, call),
  setup_intent: ({ checkout }, id, call) => checkout.getSetupIntent({ id }, call),
  charge: ({ checkout }, id, call) => checkout.getCharge({ id }, call),
  refund: ({ refunds }, id, call) => refunds.getRefund({ id }, call),
  subscription: ({ billing }, id, call) => billing.getSubscription({ id }, call),
  invoice: ({ billing }, id, call) => billing.getInvoice({ id }, call),
  test_clock: ({ billing }, id, call) => billing.getTestClock({ id }, call),
  webhook_endpoint: ({ webhooks }, id, call) => webhooks.getEndpoint({ id }, call),
  event: ({ webhooks }, id, call) => webhooks.getEvent({ id }, call),
};
