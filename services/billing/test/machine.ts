import { create } from '@bufbuild/protobuf';
import { type Mailer, openMailer } from '@eligo/mail';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { StartSubscriptionSchema } from '@eligo/proto/events/v1/events';
import { createLogger } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { startSubscription } from '../src/actions/start-subscription.ts';
import { createArrivals } from '../src/arrivals.ts';
import type { Context } from '../src/context.ts';
import { billingService } from '../src/service.ts';

/** When every subscription of the tests is sold; its period ends a month later. */
export const start = new Date('2026-04-01T00:00:00.000Z');

/** Billing on a database of its own, with a clock that the test sets; it calls nobody. */
export interface Machine {
  readonly test: TestDatabase;
  readonly database: Database;
  readonly work: Context;
  /** Sets the wall clock, which stands. */
  at(time: string | Date): void;
  close(): Promise<void>;
}

/** The ids under which a subscription was sold. */
export interface Sold {
  readonly subscriptionId: string;
  readonly invoiceId: string;
  readonly sessionId: string;
}

export async function machine(
  options: { connections?: number; place?: TestDatabase; mailer?: Mailer } = {},
): Promise<Machine> {
  const test = options.place ?? (await testDatabase(billingService));
  const database = test.open('billing', options.connections === undefined ? {} : { max: options.connections });
  let now = start;
  const work: Context = {
    database,
    clock: { now: () => now },
    logger: createLogger({ service: 'billing', level: 'silent' }),
    mailer: options.mailer ?? openMailer({ smtpUrl: undefined, folder: undefined, from: '' }),
    checkout: { setTestClock: async () => ({}) } as unknown as Context['checkout'],
    callerFor: () => {
      throw new Error('these tests call nobody');
    },
    arrivals: createArrivals(),
    failpoint: () => undefined,
  };
  return {
    ...{ test, database, work },
    at(time) {
      now = new Date(time);
    },
    close: () => test.drop(),
  };
}

/** An account of a test's own. */
export function someScope(): Scope {
  return { accountId: newId('account'), testMode: true };
}

/** Sells a subscription of 30.00 a month, as checkout's command does. */
export async function sell(
  { database }: Machine,
  scope: Scope,
  parts: { cancelAtPeriodEnd?: boolean; testClockId?: string } = {},
): Promise<Sold> {
  const ids = {
    subscriptionId: newId('subscription'),
    invoiceId: newId('invoice'),
    sessionId: newId('checkout_session'),
  };
  const command = create(StartSubscriptionSchema, {
    subscriptionId: ids.subscriptionId,
    invoiceId: ids.invoiceId,
    atMs: BigInt(start.getTime()),
    defaultPaymentMethodId: newId('payment_method'),
    ...(parts.testClockId === undefined ? {} : { testClockId: parts.testClockId }),
    session: {
      checkoutSessionId: ids.sessionId,
      customerId: newId('customer'),
      amountReceivedCents: 3_000n,
      subscriptionData: { cancelAtPeriodEnd: parts.cancelAtPeriodEnd ?? false },
      discounts: [{ discountId: newId('discount'), couponId: newId('coupon'), amountCents: 500n }],
    },
    lines: [
      {
        priceId: newId('price'),
        quantity: 2n,
        unitAmountCents: 1_500n,
        recurring: { interval: 'month', intervalCount: 1 },
      },
    ],
    paymentIntent: { paymentIntentId: newId('payment_intent'), latestChargeId: newId('charge') },
  });
  await withTx(database, scope, (tx) => startSubscription(tx, scope, command));
  // The same command again: a redelivery that the inbox let through would make nothing twice.
  await withTx(database, scope, (tx) => startSubscription(tx, scope, command));
  return ids;
}
