import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeDunning } from '../src/actions/change-dunning.ts';
import { defaultDunning } from '../src/domain/dunning.ts';
import { afterFailure } from '../src/domain/failure-notice.ts';
import { type Fixture, openFixture, paidPeriods, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});

const { runAt, read, update, pastDue, unpaid, voids, eventsOf } = callsOn(
  () => on,
  () => scope,
);
const dun = (retryDays: number[], endsWith?: 'canceled' | 'unpaid') =>
  changeDunning(on.database, scope, { retryDays, ...(endsWith === undefined ? {} : { endsWith }) });

/** Stores days that the table took before it had its constraint. */
const storeOld = async (days: string) => {
  const constraint = await on.test.admin(
    `select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'retry_days_ascend'`,
  );
  await on.test.admin('alter table billing.dunning_settings drop constraint retry_days_ascend');
  await on.test.admin(
    `insert into billing.dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at) values ($1, $2, $3::smallint[], 'canceled', now())`,
    [scope.accountId, scope.testMode, days],
  );
  await on.test.admin(
    `alter table billing.dunning_settings add constraint retry_days_ascend ${String(constraint[0]?.definition)}`,
  );
};
const attemptsOf = async (id: string) => (await read(id)).invoice.attempts;

/** The days of May on which a renewal is charged until there is no further try, with the hour before each. */
async function triesOf(id: string): Promise<number[]> {
  const days: number[] = [];
  for (;;) {
    const { paymentAt } = (await read(id)).subscription;
    if (paymentAt === null) return days;
    const before = await attemptsOf(id);
    await runAt(new Date(paymentAt.getTime() - 1).toISOString());
    expect(await attemptsOf(id)).toBe(before);
    await runAt(paymentAt.toISOString());
    expect(await attemptsOf(id)).toBe(before + 1);
    days.push((paymentAt.getTime() - Date.parse(may)) / 86_400_000);
  }
}

describe('the days on which an account duns', () => {
  it.each([
    ['canceled', 'uncollectible'],
    ['unpaid', 'open'],
  ] as const)('are those of its operator, each once, and then it is %s [D14.91]', async (endsWith, invoiceStatus) => {
    await dun([2, 3, 9, 20], endsWith);
    const { subscriptionId: id } = await pastDue();
    expect(await triesOf(id)).toEqual([2, 3, 9, 20]);
    const { subscription, invoice } = await read(id);
    expect([subscription.status, invoice.status, invoice.attempts]).toEqual([endsWith, invoiceStatus, 5]);
  });

  it('change for tries that are not set yet [D14.91]', async () => {
    await dun([2, 4, 6]);
    const { subscriptionId: id } = await pastDue();
    await dun([3, 10]);
    expect(await triesOf(id)).toEqual([2, 3, 10]);
    expect((await read(id)).subscription.status).toBe('canceled');
  });

  it('of a card that was refused for good are the last one alone [D14.91]', async () => {
    await dun([2, 4, 30]);
    const { subscriptionId: id } = await sell(on, scope, { card: on.peers.card(true, 'stolen_card') });
    await runAt(may);
    expect((await read(id)).subscription.paymentAt).toEqual(new Date(Date.parse(may) + 30 * 86_400_000));
  });

  it('are all that are left of another card that is given after one was refused for good, and the mail says so [D14.91, D14.334]', async () => {
    const { subscriptionId: id, customerId } = await sell(on, scope, { card: on.peers.card(true, 'expired_card') });
    await runAt(may);
    const mailed = async () => {
      const { subscription, invoice } = await read(id);
      return afterFailure(subscription, invoice, defaultDunning);
    };
    const [day3, day7] = [3, 7].map((day) => new Date(Date.parse(may) + day * 86_400_000));
    expect(await mailed()).toEqual({ kind: 'deadline', at: day7, endsWith: 'canceled' });
    on.at('2026-05-02T12:00:00.000Z');
    await update(id, { defaultPaymentMethodId: on.peers.cardOf(customerId, true, 'insufficient_funds') });
    expect((await read(id)).subscription).toMatchObject({ status: 'past_due', paymentAt: day3 });
    for (const day of ['04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    expect(await mailed()).toEqual({ kind: 'retry', at: day7, endsWith: 'canceled' });
    expect(await triesOf(id)).toEqual([7]);
    expect((await read(id)).subscription.status).toBe('canceled');
  });

  it('are the last one alone again if the other card is refused for good, too [D14.334]', async () => {
    const { subscriptionId: id, customerId } = await sell(on, scope, { card: on.peers.card(true, 'expired_card') });
    await runAt(may);
    on.at('2026-05-02T12:00:00.000Z');
    await update(id, { defaultPaymentMethodId: on.peers.cardOf(customerId, true, 'stolen_card') });
    expect((await read(id)).subscription.paymentAt).toEqual(new Date(Date.parse(may) + 7 * 86_400_000));
  });

  it('are all left after an outage, though another card is given before the late try [D14.91, D14.116]', async () => {
    const { subscriptionId: id, customerId } = await pastDue();
    on.at('2026-05-12T00:00:00.000Z');
    await update(id, { defaultPaymentMethodId: on.peers.cardOf(customerId, true, 'insufficient_funds') });
    // The try of the first day came ten days late: the other days are as far from it as they were.
    const { subscription, invoice } = await read(id);
    expect([subscription.status, invoice.attempts]).toEqual(['past_due', 2]);
    expect(subscription.paymentAt).toEqual(new Date('2026-05-14T00:00:00.000Z'));
  });

  it('are refused where they do not ascend from 1 to 60, or are more than ten [D14.91]', async () => {
    for (const days of [[], [5, 1, 3], [1, 1], [0, 1], [61], [1.5], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]) {
      await expect(dun(days)).rejects.toMatchObject({ status: 422 });
    }
    expect(await dun([1, 2, 3, 4, 5, 6, 7, 8, 9, 60])).toMatchObject({ endsWith: 'canceled' });
    expect(await changeDunning(on.database, scope, { endsWith: 'unpaid' })).toEqual({
      ...{ retryDays: [1, 2, 3, 4, 5, 6, 7, 8, 9, 60], endsWith: 'unpaid' },
    });
  });

  it('are refused by the table, too [D14.91]', async () => {
    const insert = (days: string) =>
      on.test.admin(
        `insert into billing.dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at) values ($1, true, $2::smallint[], 'canceled', now())`,
        [someScope().accountId, days],
      );
    for (const days of ['{5,1,3}', '{1,1}', '{1,2,3,4,5,6,7,8,10,9}', '{61}', '{1,null}', '{{1,2}}', '[2:3]={1,2}']) {
      await expect(insert(days)).rejects.toThrow('retry_days_ascend');
    }
    for (const days of ['{}', '{0}', '{1,2,3,4,5,6,7,8,9,10,11}']) {
      await expect(insert(days)).rejects.toThrow('retries_are_few');
    }
    for (const days of ['{1}', '{60}', '{1,2,3,4,5,6,7,8,9,10}']) await insert(days);
  });

  it.each([
    ['{7,3}', [3, 7]],
    ['{3,3}', [3]],
    ['{30,90}', [30, 60]],
    ['{90,61}', [60]],
  ])(
    'that were stored before the table refused them are taken and kept in order, each once, within 60: %s [D14.91]',
    async (stored, taken) => {
      await storeOld(stored);
      const { subscriptionId: id } = await pastDue();
      expect((await read(id)).subscription.paymentAt).toEqual(new Date(Date.parse(may) + (taken[0] ?? 0) * 86_400_000));
      expect(await changeDunning(on.database, scope, { endsWith: 'unpaid' })).toEqual({
        ...{ retryDays: taken, endsWith: 'unpaid' },
      });
      expect(await triesOf(id)).toEqual(taken);
      expect((await read(id)).subscription.status).toBe('unpaid');
    },
  );
});

describe('the grace of a failed renewal', () => {
  const june = '2026-06-01T00:00:00.000Z';
  const mayPeriod = { currentPeriodStart: new Date(may), currentPeriodEnd: new Date(june) };

  it('is the time of its tries: the period has begun, and goes on where a card pays [D14.299]', async () => {
    const { subscriptionId: id, card } = await pastDue();
    expect((await read(id)).subscription).toMatchObject({ status: 'past_due', ...mayPeriod });
    on.peers.behave(card, 'pays');
    await runAt('2026-05-04T00:00:00.000Z');
    expect(await read(id)).toMatchObject({
      ...{ subscription: { status: 'active', ...mayPeriod }, invoice: { periodStart: new Date(may), status: 'paid' } },
    });
    await runAt(june);
    expect((await paidPeriods(on, id)).slice(1)).toEqual(['2026-05-01 3000', '2026-06-01 3000']);
  });

  it('outlasts the period where the days do, and no other period begins in it [D14.299]', async () => {
    await dun([40], 'unpaid');
    const { subscriptionId: id, invoiceId, card } = await pastDue();
    await runAt('2026-06-05T00:00:00.000Z');
    expect(await read(id)).toMatchObject({
      ...{ subscription: { status: 'past_due', ...mayPeriod }, invoice: { id: invoiceId } },
    });
    on.peers.behave(card, 'pays');
    await runAt('2026-06-10T00:00:00.000Z');
    expect((await paidPeriods(on, id)).slice(1)).toEqual(['2026-05-01 3000', '2026-06-01 3000']);
    expect((await read(id)).subscription.status).toBe('active');
  });

  it('is over with the last try; a card that pays after several periods pays each of them, the first before the answer [D14.93, D14.299]', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await unpaid();
    await runAt('2026-08-15T12:00:00.000Z');
    expect(await read(id)).toMatchObject({
      subscription: { status: 'unpaid', ...mayPeriod },
      invoice: { id: invoiceId },
    });
    expect(await update(id, { defaultPaymentMethodId: on.peers.cardOf(customerId, true) })).toMatchObject({
      ...{ status: 'active', ...mayPeriod, latestInvoiceId: invoiceId },
    });
    expect((await paidPeriods(on, id)).slice(1)).toEqual(['2026-05-01 3000']);
    await runAt('2026-08-15T12:00:00.000Z');
    expect((await paidPeriods(on, id)).slice(1)).toEqual(
      ['05', '06', '07', '08'].map((month) => `2026-${month}-01 3000`),
    );
    expect((await read(id)).subscription).toMatchObject({
      ...{ status: 'active', currentPeriodEnd: new Date('2026-09-01T00:00:00.000Z') },
    });
  });

  it('is over with the last try; voiding the invoice of it begins the periods that follow, each with an invoice [D14.93, D14.299]', async () => {
    const { subscriptionId: id, invoiceId, card } = await unpaid();
    on.peers.behave(card, 'pays');
    on.at('2026-07-15T00:00:00.000Z');
    await voids(invoiceId);
    await runAt('2026-07-15T00:00:00.000Z');
    expect((await paidPeriods(on, id)).slice(1)).toEqual(['2026-06-01 3000', '2026-07-01 3000']);
    expect(await eventsOf(invoiceId)).toContain('invoice.voided');
  });
});
