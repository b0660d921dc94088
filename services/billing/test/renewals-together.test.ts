import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createChargePace } from '../src/charge-pace.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { listInvoices } from '../src/store/invoices.ts';
import { findSubscription, lockSubscription } from '../src/store/subscriptions.ts';
import { type Fixture, openFixture, paidPeriods, sell, someScope, start } from './fixture.ts';

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
afterEach(() => turnFailpointsOff());

const may = '2026-05-01T00:00:00.000Z';
const runAll = async (context = on.context) => {
  while (await runDueSubscriptions(context));
};
const statusOf = async (id: string) => (await findSubscription(on.database, scope, id))?.status;
const invoicesOf = async (subscriptionId: string) => {
  const { invoices } = await listInvoices(on.database, scope, { limit: 100 }, { subscriptionId, ids: [] });
  return invoices.reverse();
};
const renewedOf = async (subscriptionId: string) => (await invoicesOf(subscriptionId)).at(-1);
const eventsOf = async (id: string) =>
  (
    await on.test.admin<{ type: string }>(
      'select type from billing.outbox where aggregate_id = $1 order by created_at, event_id',
      [id],
    )
  ).map(({ type }) => type);

describe('subscriptions of an account that are due together', () => {
  const sellSome = async (count: number) => {
    const sold = [];
    for (let i = 0; i < count; i++) sold.push(await sell(on, scope));
    return sold;
  };
  const numbersOf = async () =>
    (
      await on.test.admin<{ number: bigint; period_start: Date }>(
        'select number, period_start from billing.invoices where account_id = $1 order by number',
        [scope.accountId],
      )
    ).map((row) => ({ number: Number(row.number), period: row.period_start.toISOString().slice(0, 7) }));
  const expectPaidOnce = async (sold: readonly { subscriptionId: string }[]) => {
    for (const { subscriptionId } of sold) {
      const invoices = await invoicesOf(subscriptionId);
      expect(invoices.map(({ status }) => status)).toEqual(['paid', 'paid']);
      expect(on.peers.takenOf(invoices[1]?.id ?? '')).toBe(3_000);
      const types = await eventsOf(invoices[1]?.id ?? '');
      expect(types).toEqual(['invoice.created', 'invoice.finalized', 'invoice.paid']);
    }
  };

  it('share their statements: sixteen send each at most twice, and less than two statements each', async () => {
    const sold = await sellSome(16);
    const sent: string[] = [];
    const database = on.test.open('billing', { onStatement: (name) => sent.push(name) });
    on.at(may);
    await runDueSubscriptions({ ...on.context, database });
    const counts = new Map<string, number>();
    for (const name of sent) counts.set(name, (counts.get(name) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 2)).toEqual([]);
    expect(sent.length).toBeLessThan(2 * 16);
    await expectPaidOnce(sold);
  });

  it.each(['renewal.resolved', 'renewal.invoiced', 'invoice_charge.begun', 'invoice_charge.before_commit'])(
    'are each billed once though it stops at %s',
    async (name) => {
      const sold = await sellSome(6);
      turnFailpointsOn();
      armFailpoint(name, { action: 'error' });
      on.at(may);
      await runAll();
      on.at('2026-05-01T00:02:00.000Z');
      await runAll();
      await expectPaidOnce(sold);
      expect((await numbersOf()).map(({ number }) => number)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
    },
  );

  it('are renewed though one of them is declined, is charged on two cards, loses its answer, or has lost its customer', async () => {
    const declined = await sell(on, scope, { card: on.peers.card(true, 'insufficient_funds') });
    const onTwo = await sell(on, scope, {
      ...{ backup: on.peers.card(false), items: [{}, { eligibility: 'not_eligible' }] },
    });
    const inDoubt = await sell(on, scope);
    const deleted = await sell(on, scope);
    const detached = await sell(on, scope);
    const plain = await sellSome(4);
    on.peers.failOn(inDoubt.card, 'lost_after');
    on.peers.deleteCustomer(deleted.customerId);
    on.peers.detach(detached.card);
    on.at(may);
    await runAll();
    await expectPaidOnce(plain);
    expect(await renewedOf(declined.subscriptionId)).toMatchObject({
      status: 'open',
      declineCode: 'insufficient_funds',
    });
    expect(await statusOf(declined.subscriptionId)).toBe('past_due');
    const paid = await renewedOf(onTwo.subscriptionId);
    expect(paid).toMatchObject({ status: 'paid', amountPaidCents: 6_000, backupChargeStatus: 'succeeded' });
    expect(await statusOf(deleted.subscriptionId)).toBe('canceled');
    expect(await renewedOf(detached.subscriptionId)).toMatchObject({ failureCode: 'payment_method_not_found' });
    expect((await renewedOf(inDoubt.subscriptionId))?.status).toBe('open');
    on.at('2026-05-01T00:00:01.000Z');
    await runAll();
    await expectPaidOnce([inDoubt]);
  });

  const paidPeriodsOf = (sold: readonly { subscriptionId: string }[]) =>
    Promise.all(sold.map(({ subscriptionId }) => paidPeriods(on, subscriptionId)));

  it('do not wait for one whose row another process holds', async () => {
    const [held, ...others] = await sellSome(4);
    on.at(may);
    const [locked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = withTx(on.another().database, scope, async (tx) => {
      await lockSubscription(tx, scope, held?.subscriptionId ?? '');
      locked.resolve();
      await ended.promise;
    });
    await locked.promise;
    const running = runDueSubscriptions(on.context);
    await waitUntil(async () => (await paidPeriodsOf(others)).every((periods) => periods.length === 2));
    ended.resolve();
    await Promise.all([holding, running]);
    await runAll();
    on.at('2026-05-01T00:02:00.000Z');
    await runAll();
    await expectPaidOnce(held === undefined ? others : [held, ...others]);
  });

  it('do not wait for the slow charge of one of them, and neither does another account', async () => {
    const [slow, ...others] = await sellSome(40);
    const neighbor = await sell(on, someScope());
    const answered = Promise.withResolvers<void>();
    const { checkout } = on.context;
    const chargeInvoice: typeof checkout.chargeInvoice = async (...given) => {
      if (given[0].paymentMethodId === slow?.card) await answered.promise;
      return checkout.chargeInvoice(...given);
    };
    on.at(may);
    const running = runAll({ ...on.context, checkout: { ...checkout, chargeInvoice } });
    await waitUntil(async () => (await paidPeriodsOf([...others, neighbor])).every((periods) => periods.length === 2));
    answered.resolve();
    await running;
    await expectPaidOnce(slow === undefined ? others : [slow, ...others]);
  });

  it('keep their turns when they are renewed alone after all, as beside an earlier release of checkout', async () => {
    const sold = await sellSome(4);
    const { checkout } = on.context;
    const batchGetCustomers = () => Promise.reject(new Failure('service_unavailable'));
    const open = createChargePace({ perSecond: 1, burst: 1_000 });
    let turns = 0;
    const take: typeof open.take = (...given) => {
      turns += 1;
      return open.take(...given);
    };
    on.at(may);
    await runDueSubscriptions({
      ...{ ...on.context, pace: { ...open, take }, checkout: { ...checkout, batchGetCustomers } },
    });
    await expectPaidOnce(sold);
    expect(turns).toBe(4);
  });

  it('are billed once though the database goes away between two answers', async () => {
    const sold = await sellSome(3);
    const lost = on.test.open('billing');
    const [logged, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { checkout, logger } = on.context;
    let asked = 0;
    const chargeInvoice: typeof checkout.chargeInvoice = async (...given) => {
      asked += 1;
      if (asked === 1) await lost.close();
      else await answered.promise;
      return checkout.chargeInvoice(...given);
    };
    const error = (_fields: object, text: string) => {
      if (text.startsWith('Failed to release a due subscription')) logged.resolve();
    };
    on.at(may);
    const running = runDueSubscriptions({
      ...{ ...on.context, database: lost, checkout: { ...checkout, chargeInvoice } },
      logger: { ...logger, error } as typeof logger,
    });
    await logged.promise;
    answered.resolve();
    await Promise.allSettled([running]);
    on.at('2026-05-01T00:02:00.000Z');
    await runAll();
    await expectPaidOnce(sold);
  });

  it('get numbers that are unique and ascend, by two instances of which one is killed', async () => {
    const sold = await sellSome(40);
    const killed = on.test.open('billing', { applicationName: 'to-be-killed' });
    const other = on.another();
    for (const [month, isKilled] of [
      [may, true],
      ['2026-06-01T00:00:00.000Z', false],
    ] as const) {
      on.at(month);
      const ran = Promise.allSettled([runDueSubscriptions({ ...on.context, database: killed }), runAll(other)]);
      if (isKilled) {
        // In the middle of what it does, at any of its statements.
        await waitUntil(async () => (await numbersOf()).length > sold.length);
        await on.test.admin(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'to-be-killed'`,
        );
      }
      await ran;
      on.at(new Date(new Date(month).getTime() + 120_000));
      await runAll(other);
    }
    const numbers = await numbersOf();
    expect(numbers).toHaveLength(120);
    expect(new Set(numbers.map(({ number }) => number)).size).toBe(120);
    // In the order of the numbers, no invoice of a month comes before the last one of the month before it.
    expect(numbers.map(({ period }) => period)).toEqual(
      ['2026-04', '2026-05', '2026-06'].flatMap((month) => Array<string>(40).fill(month)),
    );
    for (const { subscriptionId } of sold) {
      const invoices = await invoicesOf(subscriptionId);
      expect(invoices.map(({ status }) => status)).toEqual(['paid', 'paid', 'paid']);
      expect(invoices.slice(1).map(({ id }) => on.peers.takenOf(id))).toEqual([3_000, 3_000]);
    }
  });
});

it('a look that did something says so, although an account with nothing done ends last', async () => {
  const [quick, slow] = [someScope(), someScope()];
  const { subscriptionId } = await sell(on, quick);
  await sell(on, slow);
  on.at(may);
  const { checkout } = on.context;
  const recorded = async () =>
    (await on.test.admin("select 1 from billing.invoices where account_id = $1 and status = 'paid'", [quick.accountId]))
      .length === 2;
  const chargeInvoice: typeof checkout.chargeInvoice = async (request, call) => {
    if (request.subscriptionId === subscriptionId) return checkout.chargeInvoice(request, call);
    await waitUntil(recorded);
    throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  };
  expect(await runDueSubscriptions({ ...on.context, checkout: { ...checkout, chargeInvoice } })).toBe(true);
});

it('an outage of six hours at midnight is made up in the order of the due times, charges nothing twice, and starves no other account', async () => {
  const minutes = (count: number) => new Date(start.getTime() + count * 60_000);
  const sold = [];
  for (let i = 0; i < 90; i++) sold.push(await sell(on, scope, { at: minutes(4 * i) }));
  const neighbor = someScope();
  const single = await sell(on, neighbor, { at: minutes(350) });
  // The outage begins while three are charged: their answers are lost.
  for (const { card } of sold.slice(0, 3)) on.peers.failOn(card, 'lost_after');
  on.at('2026-05-01T00:08:00.000Z');
  await runDueSubscriptions(on.context);
  const first = on.peers.taken.length;
  on.at('2026-05-01T06:00:00.000Z');
  expect(await runDueSubscriptions(on.context)).toBe(true);
  expect(await paidPeriods(on, single.subscriptionId)).toHaveLength(2);
  expect((await paidPeriods(on, sold.at(-1)?.subscriptionId ?? '')).length).toBe(1);
  await runAll();
  const places = new Map(sold.map(({ card }, index) => [card, index]));
  const order = on.peers.taken.slice(first).flatMap(({ paymentMethodId }) => places.get(paymentMethodId) ?? []);
  expect(order).toHaveLength(87);
  // Those that are worked on at once may overtake each other.
  for (const [at, place] of order.entries()) expect(Math.abs(place - 3 - at)).toBeLessThanOrEqual(32);
  for (const { subscriptionId } of sold) {
    const invoices = await invoicesOf(subscriptionId);
    expect(invoices.map(({ status }) => status)).toEqual(['paid', 'paid']);
    expect(on.peers.takenOf(invoices[1]?.id ?? '')).toBe(3_000);
  }
});
