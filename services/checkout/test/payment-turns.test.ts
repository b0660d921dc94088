import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { withTx } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openChargeGroups } from '../src/actions/charge-groups.ts';
import { NotItsTurn, openPaymentTurns, type PaymentTurn } from '../src/actions/payment-turn.ts';
import { defaultBudgets } from '../src/charge-budgets.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { takePaymentLocks } from '../src/store/payment-locks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture(defaultBudgets);
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

type Card = PaymentMethod & { customerId: string };
/** One process: its own lines, groups and connections. */
function process_(max = 10, answerMs = defaultBudgets.answerMs): Context {
  const database = fixture.test.open('checkout', { max, connectionWaitMs: 60_000 });
  const budgets = { ...fixture.context.budgets, answerMs };
  const context = { ...fixture.context, database, budgets, turns: openPaymentTurns() };
  return { ...context, groups: openChargeGroups(context) };
}
/** So long that no machine is too slow for what has to wait: a charge that it stalls for seconds has each of those in line expected to take as long. */
const patientMs = 600_000;
const sessionsOf = (card: Card, count: number) =>
  Promise.all(Array.from({ length: count }, () => fixture.mixedSession(card)));

interface Answered {
  readonly number: number;
  readonly code: string;
  readonly afterMs: number;
}

// Confirms all at once, in this order, and tells in which order and with what they were answered.
async function confirmAll(sessions: Session[], cardOf: (index: number) => PaymentMethod, in_: Context) {
  const startedMs = performance.now();
  const answered: Answered[] = [];
  await Promise.all(
    sessions.map(async (session, number) => {
      let code = 'complete';
      try {
        code = (await fixture.confirm(session, cardOf(number), {}, in_)).session?.status ?? 'none';
      } catch (error) {
        code = (error as { code?: string }).code ?? String(error);
      }
      answered.push({ number, code, afterMs: performance.now() - startedMs });
    }),
  );
  return answered;
}

/** The same, and how long the machine itself has paused meanwhile, at most. */
async function withPause<Result>(work: () => Promise<Result>): Promise<{ result: Result; pausedMs: number }> {
  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  const result = await work();
  loop.disable();
  return { result, pausedMs: loop.max / 1e6 };
}

function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.NaN;
}

describe('confirms of different sessions with one card, all at once', () => {
  it.each([16, 40])(
    '%i of them are all answered 200, in the order in which they came, each as soon as the one before it [D1.4]',
    async (count) => {
      const card = await fixture.card('hsa');
      const sessions = await sessionsOf(card, count);
      const one = process_(10, patientMs);
      const alone: number[] = [];
      const confirmAlone = async () => {
        for (const session of await sessionsOf(card, 6)) {
          const startedMs = performance.now();
          await fixture.confirm(session, card, {}, one);
          alone.push(performance.now() - startedMs);
        }
      };
      await confirmAlone();
      const answered = await confirmAll(sessions, () => card, one);
      await confirmAlone();
      expect(answered.map(({ code }) => code)).toEqual(sessions.map(() => 'complete'));
      expect(answered.map(({ number }) => number)).toEqual(sessions.map((_, index) => index));
      const turns = answered.slice(1).map(({ afterMs }, index) => afterMs - (answered[index]?.afterMs ?? 0));
      // Other work on the machine can last as long as a short line, and not as long as this one.
      if (count === 40) expect(median(turns)).toBeLessThan(3 * median(alone));
    },
  );

  it('of one customer with different cards, too, once the customer is known', async () => {
    const first = await fixture.card('hsa');
    const second = await fixture.card('fsa', { customerId: first.customerId });
    const sessions = await sessionsOf(first, 12);
    const cardOf = (index: number) => (index % 2 === 0 ? first : second);
    const answered = await confirmAll(sessions, cardOf, process_(10, patientMs));
    expect(answered.map(({ code }) => code)).toEqual(sessions.map(() => 'complete'));
  });

  it('by the budgets of production are charged as far as the time lasts when the processor is slow, each is answered within 9 s, and the others are refused at once [D1.4]', async () => {
    const card = await fixture.card('hsa');
    const sessions = await sessionsOf(card, 16);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 1_000, times: 100 });
    const one = process_();
    expect(one.budgets).toMatchObject({ answerMs: 8_500, settleMs: 1_000 });
    const { result: answered, pausedMs } = await withPause(() => confirmAll(sessions, () => card, one));
    await fixture.clearFaults();
    const paid = answered.filter(({ code }) => code === 'complete').map(({ number }) => number);
    expect(paid).toEqual(paid.map((_, index) => index));
    // Its queue, its calls and its settling together.
    expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(9_000 + pausedMs);
    // On a busy machine the last charge may be left to the sweeper.
    const left = answered.filter(({ code }) => code === 'idempotency_key_in_use');
    expect([[], [paid.length]]).toContainEqual(left.map(({ number }) => number));
    const refused = answered.filter((one) => one.code !== 'complete' && !left.includes(one));
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['lock_timeout']));
    // As many as fit into the 7.5 s for calls, if each takes as long as the slowest.
    const charged = answered.filter((one) => !refused.includes(one)).map(({ afterMs }) => afterMs);
    const slowest = Math.max(...charged.map((afterMs, index) => afterMs - (charged[index - 1] ?? 0)));
    expect(charged.length).toBeGreaterThanOrEqual(Math.max(1, Math.floor(7_500 / slowest)));
    // As soon as the first charge has shown how long one takes: of those that take a second, no more than seven fit.
    const second = answered.findIndex(({ number }) => number === 1);
    const before = answered.slice(0, second).filter((one) => refused.includes(one));
    expect(before.length).toBeGreaterThanOrEqual(9);
    for (const { number } of refused) {
      expect(await fixture.charges(sessions[number] as Session)).toEqual([]);
    }
  });

  it('a charge that stalls keeps its card for its own time, and no payment from being tried after it', async () => {
    const turns = openPaymentTurns();
    const budgets = { answerMs: 500, settleMs: 100 };
    const enter = (paymentMethodId: string, answerMs = 500) =>
      turns.enter(fixture.scope, paymentMethodId, { ...budgets, answerMs });
    const take = (turn: PaymentTurn) =>
      turn.take(
        async () => 'claimed',
        async () => false,
      );
    const stalled = enter('fpm_1');
    await take(stalled);
    stalled.charge();
    const waiting = enter('fpm_1', 20_000);
    const enteredMs = performance.now();
    const woken = take(waiting);
    await expect(take(enter('fpm_1'))).rejects.toBeInstanceOf(NotItsTurn);
    // It has waited since before the stall was over, and does not wait for its own deadline.
    expect(await woken).toBe('claimed');
    expect(performance.now() - enteredMs).toBeLessThan(10_000);
    waiting.leave();
    // Nothing but the leases of its locks stands in the way now.
    const next = enter('fpm_1');
    expect(await take(next)).toBe('claimed');
    next.leave();
    stalled.leave();
    // It took longer than a request may wait, as does no charge that is alone.
    for (const card of ['fpm_1', 'fpm_2']) expect(await take(enter(card))).toBe('claimed');
  });

  it('hold no connection while they wait', async () => {
    const [card, other] = [await fixture.card('hsa'), await fixture.card('hsa')];
    const [sessions, alone] = [await sessionsOf(card, 8), await sessionsOf(other, 1)];
    await withTx(fixture.database, fixture.scope, (tx) =>
      takePaymentLocks(tx, fixture.scope, {
        ...{ attemptId: 'another', customerId: card.customerId, paymentMethodId: card.id, leaseMs: 120_000 },
      }),
    );
    const one = process_(1, patientMs);
    const confirming = confirmAll(sessions, () => card, one);
    const isInLine = () => one.turns.isBusy(fixture.scope, card.id) && one.database.stats().waiting === 0;
    await waitUntil(isInLine, { what: 'them in line, without a connection' });
    expect(await confirmAll(alone, () => other, one)).toMatchObject([{ code: 'complete' }]);
    expect(await Promise.race([confirming, 'they wait'])).toBe('they wait');
    await fixture.test.admin("delete from checkout.payment_locks where attempt_id = 'another'");
    expect((await confirming).map(({ code }) => code)).toEqual(sessions.map(() => 'complete'));
  });

  it('in two processes take turns: neither keeps the card', async () => {
    const card = await fixture.card('hsa');
    const [here, there] = await Promise.all([sessionsOf(card, 24), sessionsOf(card, 4)]);
    // So that the charges of the earlier process take much longer than the 250 ms after which it leaves the card free, on any machine.
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 50, times: 100 });
    const first = confirmAll(here, () => card, process_(10, patientMs));
    await pause(20);
    const second = confirmAll(there, () => card, process_(10, patientMs));
    const [ours, theirs] = await Promise.all([first, second]);
    expect([...ours, ...theirs].map(({ code }) => code)).toEqual([...here, ...there].map(() => 'complete'));
    const endedMs = Math.max(...ours.map(({ afterMs }) => afterMs));
    // The later one does not wait for the end of the line of the earlier one.
    expect(theirs[0]?.afterMs).toBeLessThan(endedMs * 0.9);
  });

  it('in two processes before a slow processor have fair shares, and none is answered after its time [D1.4]', async () => {
    const card = await fixture.card('hsa');
    const [here, there] = await Promise.all([sessionsOf(card, 8), sessionsOf(card, 8)]);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 1_000, times: 100 });
    const confirmIn = (sessions: Session[]) => confirmAll(sessions, () => card, process_(10, 12_000));
    const { result: all, pausedMs } = await withPause(() => Promise.all([confirmIn(here), confirmIn(there)]));
    await fixture.clearFaults();
    expect(Math.max(...all.flat().map(({ afterMs }) => afterMs))).toBeLessThan(12_500 + pausedMs);
    // On a busy machine the last charge of each process may be left to the sweeper.
    const codes = all.map((answered) => answered.map(({ code }) => code));
    for (const own of codes) {
      expect(own.filter((code) => !['complete', 'lock_timeout', 'idempotency_key_in_use'].includes(code))).toEqual([]);
      expect(own.filter((code) => code === 'idempotency_key_in_use').length).toBeLessThanOrEqual(1);
      expect(own).toContain('lock_timeout');
    }
    const paid = all.map((answered) => answered.filter(({ code }) => code === 'complete'));
    // In the order in which they came, and by turns: a process that still pays later does not wait for more than three of the other one.
    for (const own of paid) expect(own.map(({ number }) => number)).toEqual(own.map((_, index) => index));
    expect(Math.min(...paid.map(({ length }) => length))).toBeGreaterThanOrEqual(2);
    const byTime = paid.flatMap((own, at) => own.map(({ afterMs }) => ({ at, afterMs })));
    const order = byTime.toSorted((one, other) => one.afterMs - other.afterMs).map(({ at }) => at);
    const shared = order.slice(0, 1 + Math.min(order.lastIndexOf(0), order.lastIndexOf(1)));
    expect(shared.join('')).not.toMatch(/0{4}|1{4}/);
    for (const [at, answered] of all.entries()) {
      for (const { number, code } of answered) {
        const charges = await fixture.charges(([here, there][at] as Session[])[number] as Session);
        if (code !== 'idempotency_key_in_use') expect(charges).toHaveLength(code === 'complete' ? 1 : 0);
      }
    }
  });

  it('give the answer of a key that has one, and say that one is in use, without waiting', async () => {
    const card = await fixture.card('hsa');
    const [done, busy, next] = (await sessionsOf(card, 3)) as [Session, Session, Session];
    const one = process_(10, patientMs);
    await fixture.confirm(done, card, { key: 'done' }, one);
    const answered = Promise.withResolvers<void>();
    const { processors } = fixture.contextWith((port) => ({
      async confirmIntent(...call) {
        const answer = await port.confirmIntent(...call);
        await answered.promise;
        return answer;
      },
    }));
    const slow = fixture.confirm(busy, card, { key: 'busy' }, { ...one, processors });
    await fixture.sending(busy);
    const waiting = fixture.confirm(next, card, { key: 'next' }, one);
    expect((await fixture.confirm(done, card, { key: 'done' }, one)).replayed).toBe(true);
    await expect(fixture.confirm(busy, card, { key: 'busy' }, one)).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    answered.resolve();
    for (const answer of await Promise.all([slow, waiting])) expect(answer.session?.status).toBe('complete');
  });
});

describe('the lines', () => {
  const enter = (turns: ReturnType<typeof openPaymentTurns>, account: string, card: string, answerMs = 1_000) =>
    turns.enter({ accountId: account, testMode: true }, card, { answerMs, settleMs: 0 });
  const full = { code: 'lock_timeout' };

  it('take a hundred for a card, and the next one again once somebody has left', () => {
    const turns = openPaymentTurns();
    const [first] = Array.from({ length: 100 }, () => enter(turns, 'a', 'card'));
    expect(() => enter(turns, 'a', 'card')).toThrow(expect.objectContaining(full));
    enter(turns, 'a', 'another card');
    first?.leave();
    first?.leave();
    enter(turns, 'a', 'card');
    expect(() => enter(turns, 'a', 'card')).toThrow(expect.objectContaining(full));
  });

  it('give no account more than a quarter of all places', () => {
    const turns = openPaymentTurns();
    for (let index = 0; index < 500; index++) enter(turns, 'greedy', `card ${index}`);
    expect(() => enter(turns, 'greedy', 'one more')).toThrow(expect.objectContaining(full));
    enter(turns, 'modest', 'card');
  });

  it('refuse a request while another process holds its card, as soon as a charge no longer fits into its time [D1.4]', async () => {
    // Time that passes here and not at the machine.
    let aheadMs = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    try {
      const turns = openPaymentTurns();
      const before = enter(turns, 'a', 'card', 20_000);
      before.charge();
      aheadMs += 8_000;
      before.leave();
      const next = enter(turns, 'a', 'card', 20_000);
      const startedMs = performance.now();
      const held = new NotItsTurn({ customerId: null, paymentMethodId: 'card' });
      const look = async () => {
        aheadMs += 1_000;
        return true;
      };
      await expect(next.take(() => Promise.reject(held), look)).rejects.toMatchObject(full);
      // A charge takes 8 s, and 20 were left.
      expect(performance.now() - startedMs).toBeGreaterThan(11_900);
      expect(performance.now() - startedMs).toBeLessThan(18_000);
    } finally {
      clock.mockRestore();
    }
  });

  it('refuse at once a request that cannot finish in time [D1.4]', async () => {
    const turns = openPaymentTurns();
    const others = Array.from({ length: 20 }, () => enter(turns, 'a', 'card'));
    const last = enter(turns, 'a', 'card');
    const refused = last.take(
      async () => 'never',
      async () => false,
    );
    // Before any timer.
    const later = new Promise((resolve) => setImmediate(resolve));
    await expect(Promise.race([refused, later])).rejects.toMatchObject(full);
    for (const other of others) other.leave();
  });
});
