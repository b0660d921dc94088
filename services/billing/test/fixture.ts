import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Mailer, openMailer } from '@eligo/mail';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import type { CouponSchema } from '@eligo/proto/catalog/v1/catalog';
import { StartSubscriptionSchema } from '@eligo/proto/events/v1/events';
import type { Call } from '@eligo/rpc';
import { createLogger, failpoint } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { startSubscription } from '../src/actions/start-subscription.ts';
import { createArrivals } from '../src/arrivals.ts';
import { createChargePace } from '../src/charge-pace.ts';
import type { ClockShare } from '../src/clock-share.ts';
import type { Context } from '../src/context.ts';
import { billingService } from '../src/service.ts';
import { recordTimeZone } from '../src/store/time-zones.ts';
import { Peers } from './peers.ts';

/** When every subscription of the tests is sold; its period ends a month later. */
export const start = new Date('2026-04-01T00:00:00.000Z');

/** Billing on a database of its own, with a clock that the test sets, and with peers in memory. */
export interface Fixture {
  readonly test: TestDatabase;
  readonly database: Database;
  readonly context: Context;
  readonly peers: Peers;
  /** Another instance of billing on the same database, with the same peers. */
  another(): Context;
  /** Sets the wall clock, which stands. */
  at(time: string | Date): void;
  close(): Promise<void>;
}

/** The ids under which a subscription was sold. */
export interface Sold {
  readonly subscriptionId: string;
  readonly invoiceId: string;
  readonly sessionId: string;
  readonly customerId: string;
  readonly priceIds: readonly string[];
  /** The card that it renews on, and the one for what a health card does not pay. */
  readonly card: string;
  readonly backup: string | null;
}

/** A line of what is sold: 15.00 twice a month, eligible, unless said otherwise. */
export interface SoldItem {
  readonly unitAmountCents?: number;
  readonly quantity?: number;
  readonly eligibility?: string;
  readonly interval?: string;
  readonly intervalCount?: number;
  readonly taxCents?: number;
  readonly shippingCents?: number;
  /** Its share of a fee of the session. */
  readonly feeCents?: number;
}

/** Where the machine stalls for seconds, nobody stops waiting for a connection, a row or an answer. */
export const patience = {
  connectionWaitMs: 20_000,
  statementTimeoutMs: 20_000,
  lockTimeoutMs: 10_000,
  idleInTransactionTimeoutMs: 60_000,
};

export async function openFixture(
  options: { connections?: number; place?: TestDatabase; mailer?: Mailer } = {},
): Promise<Fixture> {
  const test = options.place ?? (await testDatabase(billingService));
  const most = options.connections === undefined ? {} : { max: options.connections };
  const database = test.open('billing', { ...patience, ...most });
  let now = start;
  const peers = new Peers();
  const context: Context = {
    database,
    clock: { now: () => now },
    logger: createLogger({ service: 'billing', level: 'silent' }),
    leaseMs: 60_000,
    pages: { urlOfInvoice: (_scope, id) => `https://pay.example/invoice/${id}` },
    mailer: options.mailer ?? openMailer({ smtpUrl: undefined, folder: undefined, from: '' }),
    catalog: peers.catalog,
    checkout: peers.checkout,
    callerFor: () => ({}) as ReturnType<Context['callerFor']>,
    arrivals: createArrivals(),
    pace: createChargePace({ perSecond: 1_000_000, burst: 1_000_000 }),
    clockShare: ample,
    failpoint,
  };
  return {
    ...{ test, database, context, peers },
    another: () => ({ ...context, database: test.open('billing', patience) }),
    at(time) {
      now = new Date(time);
    },
    close: () => test.drop(),
  };
}

// What a line was paid at, and what a health card may have paid of it.
function paidOf(item: SoldItem) {
  const { quantity = 2, unitAmountCents = 1_500, taxCents = 0, shippingCents = 0, feeCents = 0, eligibility } = item;
  const amountTotalCents = BigInt(quantity * unitAmountCents + taxCents + shippingCents + feeCents);
  return { amountTotalCents, amountEligibleCents: eligibility === 'not_eligible' ? 0n : amountTotalCents };
}

function soldOnce(totalCents: number) {
  return { priceId: newId('price'), productId: newId('product'), quantity: 1n, amountTotalCents: BigInt(totalCents) };
}

/** A process with time to spare. */
const ample: ClockShare = {
  run: (_scope, work) => work(),
  mustWait: () => false,
  isSpent: () => false,
  stepsAtOnce: () => 8,
};

/** An account of a test's own. */
export function someScope(): Scope {
  return { accountId: newId('account'), testMode: true };
}

/** Has the mails and receipts of an account name days of UTC. */
export async function useUtc({ database }: Pick<Fixture, 'database'>, scope: Scope): Promise<void> {
  await withTx(database, scope, (tx) => recordTimeZone(tx, scope, { timeZone: 'UTC', version: 1n }));
}

/** A call for an account, with time enough. */
export function callOf(scope: Scope): Call {
  return { scope, caller: {}, signal: new AbortController().signal, timeoutMs: () => 60_000 } as unknown as Call;
}

/** Sells a subscription of 30.00 a month, as checkout's command does. */
export async function sell(
  { database, peers }: Fixture,
  scope: Scope,
  parts: {
    cancelAtPeriodEnd?: boolean;
    testClockId?: string;
    at?: Date;
    items?: readonly SoldItem[];
    card?: string | null;
    backup?: string;
    trialDays?: number;
    missingPaymentMethod?: string;
    /** What the session was paid with: 30.00 unless said otherwise. */
    receivedCents?: number;
    /** What it sold once, and was paid besides. */
    onceCents?: number;
    coupons?: readonly MessageInitShape<typeof CouponSchema>[];
    sessionId?: string;
    metadata?: Record<string, string>;
  } = {},
): Promise<Sold> {
  const ids = {
    subscriptionId: newId('subscription'),
    invoiceId: newId('invoice'),
    sessionId: parts.sessionId ?? newId('checkout_session'),
    customerId: newId('customer'),
  };
  const items = parts.items ?? [{}];
  const priceIds = items.map(() => newId('price'));
  for (const [index, { eligibility }] of items.entries()) {
    peers.classify(priceIds[index] ?? '', eligibility ?? 'auto_substantiation');
  }
  const onceCents = parts.onceCents ?? 0;
  const receivedCents = (parts.receivedCents ?? 3_000) + onceCents;
  const totals = items.map((item) => Number(paidOf(item).amountTotalCents));
  peers.payments.sold(ids.sessionId, receivedCents, totals);
  peers.payments.fees.set(
    ids.sessionId,
    items.map(({ feeCents = 0 }) => feeCents),
  );
  const card = parts.card === undefined ? peers.card(true) : parts.card;
  const command = create(StartSubscriptionSchema, {
    subscriptionId: ids.subscriptionId,
    invoiceId: ids.invoiceId,
    atMs: BigInt((parts.at ?? start).getTime()),
    ...(card === null ? {} : { defaultPaymentMethodId: card }),
    ...(parts.backup === undefined ? {} : { backupPaymentMethodId: parts.backup }),
    ...(parts.testClockId === undefined ? {} : { testClockId: parts.testClockId }),
    session: {
      checkoutSessionId: ids.sessionId,
      customerId: ids.customerId,
      amountReceivedCents: BigInt(receivedCents),
      metadata: parts.metadata ?? {},
      subscriptionData: {
        cancelAtPeriodEnd: parts.cancelAtPeriodEnd ?? false,
        ...(parts.trialDays === undefined ? {} : { trialPeriodDays: parts.trialDays }),
        ...(parts.missingPaymentMethod === undefined ? {} : { missingPaymentMethod: parts.missingPaymentMethod }),
      },
      discounts: (parts.coupons ?? []).map((coupon) => ({
        discountId: newId('discount'),
        couponId: newId('coupon'),
        coupon,
        amountCents: BigInt(Math.min(500, parts.receivedCents ?? 3_000)),
      })),
    },
    lines: [
      ...items.map((item, index) => ({
        priceId: priceIds[index] ?? '',
        productId: newId('product'),
        quantity: BigInt(item.quantity ?? 2),
        unitAmountCents: BigInt(item.unitAmountCents ?? 1_500),
        amountTaxCents: BigInt(item.taxCents ?? 0),
        amountShippingCents: BigInt(item.shippingCents ?? 0),
        amountFeeCents: BigInt(item.feeCents ?? 0),
        ...paidOf(item),
        eligibility: { rule: 'product' },
        recurring: { interval: item.interval ?? 'month', intervalCount: item.intervalCount ?? 1 },
      })),
      ...(onceCents === 0 ? [] : [soldOnce(onceCents)]),
    ],
    paymentIntent: { paymentIntentId: newId('payment_intent'), latestChargeId: newId('charge') },
  });
  await withTx(database, scope, (tx) => startSubscription(tx, scope, command));
  // The same command again: a redelivery that the inbox let through would make nothing twice.
  await withTx(database, scope, (tx) => startSubscription(tx, scope, command));
  return { ...ids, priceIds, card: card ?? '', backup: parts.backup ?? null };
}

/** The paid invoices of a subscription in the order of their numbers: each the first day of its period and its cents. */
export async function paidPeriods({ test }: Fixture, subscriptionId: string): Promise<string[]> {
  const paid = await test.admin<{ period_start: Date; amount_paid_cents: bigint }>(
    `select period_start, amount_paid_cents from billing.invoices where subscription_id = $1 and status = 'paid' order by number`,
    [subscriptionId],
  );
  return paid.map(
    ({ period_start, amount_paid_cents }) => `${period_start.toISOString().slice(0, 10)} ${amount_paid_cents}`,
  );
}
