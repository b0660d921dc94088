import { fromBinary } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { expect } from 'vitest';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { type SubscriptionUpdate, updateSubscription } from '../src/actions/update-subscription.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, type Sold, sell } from './fixture.ts';

/** When the first renewal of what the tests sell is due. */
export const may = '2026-05-01T00:00:00.000Z';

/** An error of the database that names this constraint. */
export const refusedBy = (constraint: string) => expect.objectContaining({ constraint });

/** Sells until one is as it is wanted, such as one that is charged at the right minute of a spread. */
export async function sellOne(sells: () => Promise<Sold>, isWanted: (sold: Sold) => boolean): Promise<Sold> {
  for (let tries = 0; tries < 100; tries++) {
    const sold = await sells();
    if (isWanted(sold)) return sold;
  }
  throw new Error('None of a hundred is as it is wanted');
}

/** The calls of a test about subscriptions of one account, on a fixture that is open once the test runs. */
export function callsOn(machineOf: () => Fixture, scopeOf: () => Scope) {
  const runAt = async (time: string) => {
    machineOf().at(time);
    while (await runDueSubscriptions(machineOf().context));
  };
  const read = async (id: string) => {
    const { database } = machineOf();
    const subscription = await findSubscription(database, scopeOf(), id);
    const invoice = await findInvoice(database, scopeOf(), subscription?.latestInvoiceId ?? '');
    if (subscription === undefined || invoice === undefined) throw new Error('no subscription or invoice');
    return { subscription, invoice };
  };
  const eventsOf = async (...ids: string[]) =>
    (
      await machineOf().test.admin<{ type: string }>(
        'select type from billing.outbox where aggregate_id = any($1) order by event_id',
        [ids],
      )
    ).map(({ type }) => type);
  /** The refunds that were commanded for a subscription. Refunds carries out each operation once. */
  const refundsOf = async (id: string) => {
    const rows = await machineOf().test.admin<{ payload: Buffer }>(
      `select payload from billing.outbox where aggregate_id = $1 and type = 'command.refund' order by event_id`,
      [id],
    );
    return rows.map(({ payload }) => {
      const { object } = fromBinary(EventSchema, payload);
      if (object.case !== 'refundRequested') throw new Error('no refund');
      const { operationId, subject, amountCents, recurringLinesOnly } = object.value;
      return { operationId, subject, amountCents: Number(amountCents), recurringLinesOnly };
    });
  };
  const invoicesOf = (id: string) =>
    machineOf().test.admin<{ status: string; total_cents: bigint; period_start: Date }>(
      'select status, total_cents, period_start from billing.invoices where subscription_id = $1 order by number',
      [id],
    );
  const update = (id: string, change: Partial<SubscriptionUpdate>) =>
    updateSubscription(machineOf().context, callOf(scopeOf()), id, {
      ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
      ...change,
    });
  const pay = (id: string, card?: string) => payInvoice(machineOf().context, callOf(scopeOf()), id, card);
  const voids = (id: string) => voidInvoice(machineOf().context, callOf(scopeOf()), id);

  /** A subscription whose renewal in May has failed, with its open invoice. */
  async function pastDue() {
    const on = machineOf();
    const sold = await sell(on, scopeOf(), { card: on.peers.card(true, 'insufficient_funds') });
    await runAt(may);
    const { subscription, invoice } = await read(sold.subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['past_due', 'open']);
    return { ...sold, invoiceId: invoice.id };
  }

  /** The same after the last try of an account whose subscriptions stay unpaid. */
  async function unpaid() {
    await machineOf().test.admin(
      `insert into billing.dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at)
       values ($1, true, '{1}', 'unpaid', now())`,
      [scopeOf().accountId],
    );
    const sold = await pastDue();
    await runAt('2026-05-02T00:00:00.000Z');
    expect((await read(sold.subscriptionId)).subscription.status).toBe('unpaid');
    return sold;
  }

  /** The same after the last try: the subscription has ended, and its invoice is given up. */
  async function givenUp() {
    const sold = await pastDue();
    for (const day of ['02', '04', '06', '08']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    const { subscription, invoice } = await read(sold.subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'uncollectible']);
    return sold;
  }
  return { runAt, read, eventsOf, refundsOf, invoicesOf, update, pay, voids, pastDue, unpaid, givenUp };
}
