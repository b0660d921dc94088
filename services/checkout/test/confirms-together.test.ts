import { AsyncLocalStorage } from 'node:async_hooks';
import { fromBinary } from '@bufbuild/protobuf';
import { provideEventContext } from '@eligo/events';
import { requestHash, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { captureSession } from '../src/actions/capture-session.ts';
import { openChargeGroups } from '../src/actions/charge-groups.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { takePaymentLocks } from '../src/store/payment-locks.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, shortBudgets } from './fixture.ts';
import { oneByOne } from './one-by-one.ts';
import { pay } from './pay.ts';
import { type Sent, sentBy } from './sent-statements.ts';

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

  it.each([
    ['pass the fence', 'charge.intent_created', 'checkout.charge_attempts_fence'],
    ['are settled', 'charge.processor_answered', 'checkout.settle_confirmed'],
  ])('%s together though the processor answers one after the other', async (_what, at, statement) => {
    const paid = await payments(6);
    const { failpoint, mostGroups } = oneByOne(at, paid.length);
    const sent: string[] = [];
    const database = fixture.test.open('checkout', { max: 8, onStatement: (name) => sent.push(name) });
    const { budgets, clock } = fixture.context;
    const groups = openChargeGroups({ database, clock, failpoint, budgets });
    const context = { ...fixture.context, database, failpoint, groups };
    const confirmed = paid.map(({ session, card }) => fixture.confirm(session, card, {}, context));
    expect((await Promise.all(confirmed)).map(({ session }) => session?.status)).toEqual(paid.map(() => 'complete'));
    for (const payment of paid) expect(await chargesOf(payment)).toEqual([4_000]);
    const count = sent.filter((one) => one.startsWith(`${statement}:`)).length;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(await mostGroups());
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
      outcomeOf(fixture.confirm(held.session, held.card, {}, { ...fixture.context, budgets: shortBudgets })),
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

const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
const slots = { tok_hsa: 'health', tok_visa: 'other', tok_chargeDeclined: 'other' } as const;
type Token = keyof typeof slots;
// Each card as the processor's fields give it.
const typedIn = async (tokens: readonly Token[]) => {
  const session = await fixture.session({ lines });
  const cards = await Promise.all(tokens.map((token) => fixture.confirmationToken(token)));
  return { session, cards, tokens };
};
const payOnPage = ({ session, cards: [first, second], tokens: [one, two] }: Awaited<ReturnType<typeof typedIn>>) =>
  completeWithCards(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second, onPage: true },
    ...{ slot: one && slots[one], secondSlot: two && slots[two], shippingDetails: null, refusesHealthCards: false },
  });
const sentByConfirm = async () => {
  const [paid] = await payments(1);
  if (paid === undefined) throw new Error('a payment was to be made');
  return sentBy(() => fixture.confirm(paid.session, paid.card));
};
// Of the session's own rows, how many transactions wrote the last version of them.
const writersOf = async (sessionIds: readonly string[], table: 'payment_plans' | 'captures') => {
  const [row] = await fixture.test.admin<{ count: number }>(
    `select count(distinct xmin::text)::int as count from checkout.${table} where session_id = any ($1)`,
    [sessionIds],
  );
  return row?.count;
};

describe('payments on the page that come at the same time', () => {
  it('share transactions, and each charges its own session once, also beside one that is declined [D14.81]', async () => {
    const paid = await Promise.all(Array.from({ length: 12 }, () => typedIn(['tok_visa'])));
    const declined = await typedIn(['tok_chargeDeclined']);
    const answers = await Promise.all([...paid, declined].map(payOnPage));
    expect(answers.map(({ status }) => status)).toEqual([...paid.map(() => 'complete'), 'open']);
    expect(answers.at(-1)).toMatchObject({ nextAction: { type: 'payment_failed', errorCode: 'card_declined' } });
    for (const { session } of paid) {
      expect((await fixture.charges(session)).map(({ amount }) => amount)).toEqual([10_000]);
      expect(await fixture.told(session)).toMatchObject({
        ...{ 'checkout.session.completed': 1, 'payment_intent.created': 1, 'payment_intent.succeeded': 1 },
      });
    }
    expect(
      await writersOf(
        paid.map(({ session }) => session.id),
        'payment_plans',
      ),
    ).toBeLessThan(12);
    const held = await fixture.test.admin(
      'select 1 from checkout.payment_locks l join checkout.payment_plans p on p.id = l.attempt_id',
    );
    expect(held).toEqual([]);
  });

  it('with two cards share transactions, too, and charge each card what it pays [D14.81]', async () => {
    const paid = await Promise.all(Array.from({ length: 8 }, () => typedIn(['tok_hsa', 'tok_visa'])));
    const short = await typedIn(['tok_hsa', 'tok_chargeDeclined']);
    const answers = await Promise.all([...paid, short].map(payOnPage));
    expect(answers.map(({ status }) => status)).toEqual([...paid.map(() => 'complete'), 'open']);
    for (const { session } of paid) {
      expect((await fixture.charges(session)).map(({ amount }) => amount).sort()).toEqual([4_000, 6_000]);
      expect(await fixture.told(session)).toMatchObject({
        ...{ 'checkout.session.completed': 1, 'payment_intent.created': 2, 'payment_intent.succeeded': 2 },
      });
      const ofCharges = await fixture.test.admin(
        `select o.type, count(*)::int as times from checkout.outbox o join checkout.charges c on c.id = o.aggregate_id
         join checkout.payment_intents i on i.id = c.payment_intent_id where i.session_id = $1 group by o.type order by o.type`,
        [session.id],
      );
      expect(ofCharges).toEqual([
        { type: 'charge.captured', times: 1 },
        { type: 'charge.succeeded', times: 2 },
      ]);
      const [row] = await fixture.test.admin(
        `select s.amount_received_cents::int as received, s.capture_ids = array_agg(c.id) as told, sum(c.amount_cents)::int as captured,
           (select sum(l.amount_captured_cents)::int from checkout.session_lines l where l.session_id = s.id) as lines,
           (select sum(e.amount_cents)::int from checkout.ledger_entries e join checkout.payment_intents i on i.id = e.payment_intent_id
             where i.session_id = s.id) as booked
         from checkout.sessions s join checkout.captures c on c.session_id = s.id where s.id = $1 group by s.id, s.amount_received_cents, s.capture_ids`,
        [session.id],
      );
      expect(row).toEqual({ received: 10_000, told: true, captured: 4_000, lines: 10_000, booked: 10_000 });
    }
    const ids = paid.map(({ session }) => session.id);
    expect(await writersOf(ids, 'payment_plans')).toBeLessThan(8);
    expect(await writersOf(ids, 'captures')).toBeLessThan(8);
  });

  it.each([
    ['plan.attempt_begun', 0, 1],
    ['charge.fence_passed', 0, 1],
    ['charge.before_settle_commit', 0, 1],
    ['charge.before_settle_commit', 0, 2],
    ['plan.attempt_begun', 1, 2],
    ['charge.before_settle_commit', 1, 2],
    ['plan.hold_decided', 0, 2],
    ['hold.processor_answered', 0, 2],
    ['hold.before_record_commit', 0, 2],
  ] as const)(
    'are charged once by the sweeper after a crash at %s, pass %i, with %i cards [D14.81]',
    async (failpoint, skip, count) => {
      const payment = await typedIn(count === 1 ? ['tok_visa'] : ['tok_hsa', 'tok_visa']);
      turnFailpointsOn();
      armFailpoint(failpoint, { action: 'error', skip });
      await expect(payOnPage(payment)).rejects.toThrow();
      turnFailpointsOff();
      for (let sweeps = 0; sweeps < 3; sweeps += 1) {
        await fixture.lapseLeases();
        await sweepCharges(fixture.context);
      }
      const charged = (await fixture.charges(payment.session)).map(({ amount }) => amount).sort();
      expect(charged).toEqual(count === 1 ? [10_000] : [4_000, 6_000]);
      expect(await loadSession(fixture.database, fixture.scope, payment.session.id)).toMatchObject({
        ...{ status: 'complete', amountReceivedCents: 10_000 },
      });
      await expect(payOnPage(payment)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
    },
  );

  it('send three transactions for each card, as a confirm does, and no more statements than to read what one card pays', async () => {
    const confirm = await sentByConfirm();
    const payment = await typedIn(['tok_visa']);
    const page = await sentBy(() => payOnPage(payment));
    expect([confirm.transactions, page.transactions]).toEqual([3, 3]);
    expect(page.statements).toBeLessThanOrEqual(confirm.statements + 3);
    // The first card's hold is captured, which is the sixth.
    const two = await typedIn(['tok_hsa', 'tok_visa']);
    const both = await sentBy(() => payOnPage(two));
    expect(both.transactions).toBe(6);
    expect(both.statements).toBeLessThanOrEqual(2 * confirm.statements + 2);
  });
});

describe('captures that come at the same time', () => {
  const held = async () => {
    const session = await fixture.session({ lines, captureMethod: 'manual' });
    await pay(fixture, session, [await fixture.card('credit')]);
    return session.id;
  };
  const capture = (sessionId: string, key = sessionId) =>
    captureSession(fixture.context, fixture.scope, sessionId, {
      ...{ instruction: { entries: [], isFinal: false }, metadata: {} },
      key: { key, requestHash: requestHash({ method: 'POST', path: '/capture', body: { sessionId } }) },
    });

  it('share transactions, and each captures its own session once and answers again under its key [SESS-6]', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, held));
    const first = await Promise.all(ids.map((id) => capture(id)));
    expect(first.map(({ status, amountReceivedCents }) => [status, amountReceivedCents])).toEqual(
      ids.map(() => ['complete', 10_000n]),
    );
    expect(await writersOf(ids, 'captures')).toBeLessThan(12);
    expect(await Promise.all(ids.map((id) => capture(id)))).toEqual(first);
    const outcomes = await Promise.allSettled(ids.map((id) => capture(id, 'another key')));
    expect(new Set(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code))).toEqual(
      new Set(['checkout_session_already_processed']),
    );
  });

  it('send two transactions, and fewer statements than a confirm', async () => {
    const confirm = await sentByConfirm();
    const id = await held();
    const sent: Sent = await sentBy(() => capture(id));
    expect(sent.transactions).toBe(2);
    expect(sent.statements).toBeLessThanOrEqual(confirm.statements);
  });
});
