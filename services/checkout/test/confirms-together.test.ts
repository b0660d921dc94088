import { AsyncLocalStorage } from 'node:async_hooks';
import { fromBinary } from '@bufbuild/protobuf';
import { provideEventContext } from '@eligo/events';
import { withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelSession } from '../src/actions/end-session.ts';
import { takePaymentLocks } from '../src/store/payment-locks.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

const request = new AsyncLocalStorage<string>();

let fixture: ChargingFixture;
beforeAll(async () => {
  provideEventContext(() => ({ requestId: request.getStore() ?? '' }));
  fixture = await openChargingFixture();
});
afterAll(async () => {
  provideEventContext(() => undefined);
  await fixture.close();
});

type Payment = Awaited<ReturnType<typeof payments>>[number];
const payments = (count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const card = await fixture.card('hsa');
      return { card, session: await fixture.mixedSession(card) };
    }),
  );
const outcomeOf = (confirmed: Promise<{ session?: { status: string } | undefined }>) =>
  confirmed.then(
    ({ session }) => session?.status,
    (error: { code?: string }) => error.code ?? String(error),
  );
const chargesOf = async ({ session }: Payment) => (await fixture.charges(session)).map(({ amount }) => amount);
// How many transactions wrote the rows of these sessions' attempts: with xmin of the last, or of the first write of each.
const transactionsOf = async (paid: readonly Payment[], table: 'charge_attempts' | 'idempotency_keys') => {
  const keys = table === 'charge_attempts' ? 'subject_id' : "split_part(endpoint, '/', 5)";
  const [row] = await fixture.test.admin<{ count: number }>(
    `select count(distinct xmin::text)::int as count from checkout.${table} where ${keys} = any ($1)`,
    [paid.map(({ session }) => session.id)],
  );
  return row?.count;
};

describe('confirms that come at the same time', () => {
  it('share transactions, and each charges its own session once', async () => {
    const paid = await payments(16);
    const outcomes = await Promise.all(paid.map(({ session, card }) => outcomeOf(fixture.confirm(session, card))));
    expect(outcomes).toEqual(paid.map(() => 'complete'));
    for (const payment of paid) {
      expect(await chargesOf(payment)).toEqual([4_000]);
      expect(await fixture.told(payment.session)).toMatchObject({
        'checkout.session.completed': 1,
        'payment_intent.created': 1,
        'payment_intent.succeeded': 1,
      });
    }
    expect(await transactionsOf(paid, 'charge_attempts')).toBeLessThan(16);
    expect(await transactionsOf(paid, 'idempotency_keys')).toBeLessThan(16);
    const held = await fixture.test.admin('select 1 from checkout.payment_locks');
    expect(held).toEqual([]);
  });

  it('are answered again under their keys with the answers of their own', async () => {
    const paid = await payments(6);
    const confirmAll = () =>
      Promise.all(paid.map(({ session, card }, index) => fixture.confirm(session, card, { key: `again ${index}` })));
    const [first, again] = [await confirmAll(), await confirmAll()];
    expect(again.map(({ session }) => session?.checkoutSessionId)).toEqual(paid.map(({ session }) => session.id));
    expect(again).toEqual(first.map((answer) => ({ ...answer, replayed: true })));
  });

  it('say in their events which request each comes from', async () => {
    const paid = await payments(4);
    await Promise.all(
      paid.map(({ session, card }) => request.run(`request of ${session.id}`, () => fixture.confirm(session, card))),
    );
    for (const { session } of paid) {
      const events = await fixture.test.admin<{ payload: Buffer }>(
        `select payload from checkout.outbox where type in ('payment_intent.created', 'checkout.session.completed')
           and (aggregate_id = $1 or aggregate_id in (select id from checkout.payment_intents where session_id = $1))`,
        [session.id],
      );
      const requests = events.map(({ payload }) => fromBinary(EventSchema, payload).requestId);
      expect(requests).toEqual([`request of ${session.id}`, `request of ${session.id}`]);
    }
  });

  it('each have their own outcome: one that is refused, replayed or locked out takes no other with it', async () => {
    const [first, plain, ended, replayed, held, elsewhere, declined] = await payments(7);
    if (!first || !plain || !ended || !replayed || !held || !elsewhere || !declined) throw new Error('seven payments');
    await cancelSession(fixture.context, fixture.scope, ended.session.id);
    await fixture.confirm(replayed.session, replayed.card, { key: 'used before' });
    await withTx(fixture.database, fixture.scope, (tx) =>
      takePaymentLocks(tx, fixture.scope, {
        attemptId: 'fca_of_another_process',
        customerId: held.card.customerId,
        paymentMethodId: held.card.id,
        leaseMs: 60_000,
      }),
    );
    const bad = await fixture.card('declined');
    const outcomes = await Promise.all([
      outcomeOf(fixture.confirm(first.session, first.card)),
      outcomeOf(fixture.confirm(plain.session, plain.card)),
      outcomeOf(fixture.confirm(ended.session, ended.card)),
      outcomeOf(fixture.confirm(replayed.session, replayed.card, { key: 'used before' })),
      outcomeOf(fixture.confirm(held.session, held.card)),
      outcomeOf(fixture.confirm(elsewhere.session, first.card)),
      outcomeOf(fixture.confirm(await fixture.mixedSession(bad), bad)),
      outcomeOf(fixture.confirm(declined.session, declined.card)),
    ]);
    expect(outcomes).toEqual([
      'complete',
      'complete',
      'checkout_session_canceled',
      'complete',
      'lock_timeout',
      'payment_method_not_found',
      'card_declined',
      'complete',
    ]);
    for (const payment of [first, plain, replayed, declined]) expect(await chargesOf(payment)).toEqual([4_000]);
    for (const payment of [ended, held, elsewhere]) expect(await chargesOf(payment)).toEqual([]);
  });

  it('are each settled once when a session is changed between its claim and its settlement', async () => {
    const paid = await payments(5);
    const [changed] = paid;
    const context = fixture.contextWith((port) => ({
      async confirmIntent(...call) {
        const answer = await port.confirmIntent(...call);
        // A session takes metadata while it is paid.
        await fixture.test.admin('update checkout.sessions set version = version + 1 where id = $1 and version = 1', [
          changed?.session.id,
        ]);
        return answer;
      },
    }));
    const outcomes = await Promise.all(
      paid.map(({ session, card }) => outcomeOf(fixture.confirm(session, card, {}, context))),
    );
    expect(outcomes).toEqual(paid.map(() => 'complete'));
    for (const payment of paid) {
      expect(await chargesOf(payment)).toEqual([4_000]);
      expect(await loadSession(fixture.database, fixture.scope, payment.session.id)).toMatchObject({
        status: 'complete',
        amountReceivedCents: 4_000,
      });
    }
  });

  it('for one session charge it once, whichever is first', async () => {
    const [first, contended] = await payments(2);
    if (!first || !contended) throw new Error('two payments');
    const outcomes = await Promise.all([
      outcomeOf(fixture.confirm(first.session, first.card)),
      ...Array.from({ length: 6 }, () => outcomeOf(fixture.confirm(contended.session, contended.card))),
    ]);
    expect(outcomes.filter((outcome) => outcome === 'complete')).toHaveLength(2);
    expect(await chargesOf(contended)).toEqual([4_000]);
  });
});
