import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import {
  claimOrThrow,
  findKey,
  finishKey,
  type KeyUse,
  type Scope,
  type Tx,
  usableOrThrow,
  withTx,
} from '@eligo/postgres';
import { type Subscription as SubscriptionMessage, SubscriptionSchema } from '@eligo/proto/billing/v1/billing';
import type { Call } from '@eligo/rpc';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { openSubscription, type SubscriptionTerms } from '../domain/opened-subscription.ts';
import { subscriptionMessage } from '../messages/records.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { findSubscription, insertSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { checkNamedCards, namedCustomer } from './check-payer.ts';
import { holdUntil } from './hold-until.ts';
import {
  type GivenDiscount,
  keepDiscounts,
  releaseUnwritten,
  releasingOnRefusal,
  reserveDiscount,
  unreservedDiscount,
} from './redeem-discounts.ts';
import { runDueNow } from './run-due-now.ts';
import { sellPrices } from './sell-prices.ts';
import { secretOfSetUp } from './set-up-card.ts';
import { wakeWhenDue } from './wake-when-due.ts';
import { writeInvoice } from './write-invoice.ts';

/** What a partner asks for. */
export interface NewSubscription extends Omit<SubscriptionTerms, 'testClockId' | 'at' | 'items' | 'discounts'> {
  readonly items: readonly { readonly priceId: string; readonly quantity: number }[];
  readonly discount: GivenDiscount;
}

/** The client's own retry key with the hash of its request. */
export type RetryKey = { readonly key: string; readonly requestHash: Uint8Array } | undefined;

/**
 * Creates a subscription and charges its first invoice. The same key and body returns the response of the first request (decisions 1.1); after a crash it goes on
 * with the subscription that the first request wrote. A payment that fails, whose outcome is unknown, or that waits for its customer leaves the subscription
 * `incomplete`; with the last, the response has the secret of the payment. Where nothing is charged yet, the response has the secret with which a card is set up.
 */
export async function createSubscription(
  context: Context,
  call: Call,
  input: NewSubscription,
  given: RetryKey,
): Promise<SubscriptionMessage> {
  const { scope } = call;
  const key = given && keyUseOf(given);
  const known = key && (await findKey(context.database, scope, key));
  if (known !== undefined) {
    const claim = usableOrThrow(known);
    if (claim.outcome === 'finished') return withSecret(context, call, answerOf(claim.answer));
  }
  const written = await writeOrTakeOver(context, call, input, key);
  if (typeof written !== 'string') return withSecret(context, call, written);
  await context.failpoint('subscription.written');
  await runDueNow(context, scope, written);
  await context.failpoint('subscription.charged');
  const made = await findSubscription(context.database, scope, written);
  if (made === undefined) throw new Error(`Subscription ${written} is gone`);
  const message = subscriptionMessage(scope, made);
  if (key !== undefined) {
    const body = Buffer.from(toBinary(SubscriptionSchema, message));
    await withTx(context.database, scope, (tx) => finishKey(tx, scope, key, { status: 200, body }));
  }
  return withSecret(context, call, message);
}

const answerOf = ({ body }: { readonly body: Uint8Array }) => fromBinary(SubscriptionSchema, body);

// A secret for the customer, read from the processor for this answer alone: it is neither stored nor logged.
async function withSecret(context: Context, call: Call, message: SubscriptionMessage): Promise<SubscriptionMessage> {
  try {
    const secret = await (message.status === 'incomplete' ? paymentSecret : setupSecret)(context, call, message);
    return { ...message, ...secret };
  } catch (error) {
    context.logger.warn(
      { err: error, subscriptionId: message.subscriptionId },
      'Failed to read the secret of a subscription; the response has none, and the same key reads it again',
    );
    return message;
  }
}

// With which the customer authenticates the first payment.
async function paymentSecret(context: Context, call: Call, { latestInvoiceId: id }: SubscriptionMessage) {
  if (id === undefined) return {};
  if ((await findPendingCharge(context.database, call.scope, id))?.withCustomer !== true) return {};
  const { clientSecret } = await context.checkout.getInvoicePayment({ id }, call);
  return clientSecret === undefined ? {} : { paymentSecret: clientSecret };
}

// With which the customer sets up the card that pays later. The response may be of long ago: what counts is the subscription as it is.
async function setupSecret(context: Context, call: Call, { status, subscriptionId }: SubscriptionMessage) {
  if (status !== 'trialing' && status !== 'active') return {};
  const subscription = await findSubscription(context.database, call.scope, subscriptionId);
  const secret = subscription && (await secretOfSetUp(context, call, subscription));
  return secret === undefined ? {} : { setupSecret: secret };
}

// Longer than the gateway waits, so that the same key finds the request in flight and not a second one.
const claimMs = 30_000;

function keyUseOf({ key, requestHash }: NonNullable<RetryKey>): KeyUse {
  return { endpoint: 'POST /v1/subscriptions', key, requestHash: Buffer.from(requestHash), otherRequest: 'run_as_new' };
}

// A request that crashed has written a subscription that the same key goes on with, whatever is refused by now: its own coupon may be used up. The claim of a key
// that stands for nothing is rolled back with the refusal.
async function writeOrTakeOver(
  context: Context,
  call: Call,
  input: NewSubscription,
  key: KeyUse | undefined,
): Promise<string | SubscriptionMessage> {
  try {
    return await writeSubscription(context, call, input, key);
  } catch (error) {
    if (key === undefined || !(error instanceof Failure)) throw error;
    return withTx(context.database, call.scope, async (tx) => {
      const claim = await claimOrThrow(tx, call.scope, key, claimMs);
      if (claim.outcome === 'finished') return answerOf(claim.answer);
      if (claim.attemptId === undefined) throw error;
      return claim.attemptId;
    });
  }
}

// The id of the subscription that this key stands for, or the stored answer.
async function writeSubscription(
  context: Context,
  call: Call,
  input: NewSubscription,
  key: KeyUse | undefined,
): Promise<string | SubscriptionMessage> {
  const { scope } = call;
  const id = newId('subscription');
  const terms = await termsOf(context, call, id, input);
  const [reserved] = terms.discounts;
  const written = await releasingOnRefusal(context, scope, id, reserved, async () => {
    const made = openSubscription(id, terms);
    await context.failpoint('subscription.resolved');
    return withTx(context.database, scope, async (tx) => {
      if (key !== undefined) {
        const claim = await claimOrThrow(tx, scope, key, claimMs, id);
        if (claim.outcome === 'finished') return answerOf(claim.answer);
        if (claim.attemptId !== undefined) return claim.attemptId;
      }
      await insertOpened(tx, scope, context, made, terms.at);
      return id;
    });
  });
  if (written !== id) await releaseUnwritten(context, scope, id, reserved);
  return written;
}

async function insertOpened(
  tx: Tx,
  scope: Scope,
  context: Context,
  { subscription, invoice, lines }: ReturnType<typeof openSubscription>,
  at: Date,
): Promise<void> {
  const isCharged = subscription.paymentAt !== null;
  // This process charges it; another one takes over if this one dies.
  const held = isCharged ? { ...subscription, heldUntil: holdUntil(context) } : subscription;
  await insertSubscription(tx, scope, held);
  await keepDiscounts(tx, scope, held, subscription.status !== 'incomplete');
  wakeWhenDue(tx, held, at);
  await appendSubscriptionEvent(tx, scope, 'created', held, at);
  await writeInvoice(context, tx, scope, invoice, { lines, credits: [] }, at);
}

async function termsOf(context: Context, call: Call, id: string, input: NewSubscription): Promise<SubscriptionTerms> {
  const { items, discount, customerId } = input;
  const customer = await namedCustomer(context, call, customerId);
  await checkNamedCards(context, call, customerId, [
    { id: input.defaultPaymentMethodId, loc: ['subscription', 'default_payment_method'] },
    { id: input.backupPaymentMethodId, loc: ['subscription', 'backup_payment_method'] },
  ]);
  const testClockId = customer.testClockId ?? null;
  const at = await timeOnClock(context.database, call.scope, context.clock, testClockId);
  const cart = { subscriptionId: id, customerId, items, discount, heldPriceIds: [], at };
  const sold = await sellPrices(context, call, cart);
  const terms: SubscriptionTerms = {
    ...input,
    testClockId,
    at,
    items: sold.prices.map((price, index) => ({ price, quantity: items[index]?.quantity ?? 1 })),
    discounts: [],
  };
  const { discount: given } = sold;
  const owner = { subscriptionId: id, customerId, at };
  // Refuses what cannot be sold before a redemption is counted.
  const discounts = given === undefined ? [] : [unreservedDiscount(call.scope, owner, given)];
  openSubscription(id, { ...terms, discounts });
  return given === undefined ? terms : { ...terms, discounts: [await reserveDiscount(context, call, owner, given)] };
}
