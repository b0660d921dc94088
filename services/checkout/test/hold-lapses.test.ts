import type { Scope } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import { armFailpoint, firstTurn, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { type Cents, cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { acceptProcessorEvent } from '../src/actions/accept-processor-event.ts';
import type { Context } from '../src/context.ts';
import type { PaymentIntent } from '../src/domain/payment-intent.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { followHolds } from '../src/jobs/follow-holds.ts';
import { countCapturedElsewhere, dueHolds, holdTurns, nextHoldInMs } from '../src/store/holds.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { type CapturesFixture, openCapturesFixture, refusal } from './captures-fixture.ts';
import { line, start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';
import { pay } from './pay.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.clock.set(start));
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
  // What one test leaves held is not due in the next one.
  await fixture.test.admin(
    "update checkout.payment_intents set hold_check_at = '2999-01-01' where status = 'requires_capture'",
  );
});

const hour = 3_600_000;
const day = 24 * hour;
/** The job, until it has nothing more to do. */
async function follow(context: Context = fixture.context): Promise<void> {
  const job = followHolds(context);
  for (let run = 0; run < 10; run++) {
    if ((await job.run(new AbortController().signal)) !== true) return;
  }
  throw new Error('The job does not come to an end');
}
const intentsOf = async (session: Session): Promise<PaymentIntent[]> =>
  findIntents(fixture.database, fixture.scope, (await fixture.reload(session)).paymentIntentIds);
async function lapsesAt(session: Session): Promise<Date> {
  const times = (await intentsOf(session)).map(({ captureBefore }) => captureBefore?.getTime() ?? Number.NaN);
  return new Date(Math.min(...times));
}
const setClockBefore = async (session: Session, ms: number) =>
  fixture.clock.set(new Date((await lapsesAt(session)).getTime() - ms));
const kinds = async (session: Session) => (await fixture.atProcessor(session)).map(([, , kind]) => kind);
const makeDue = ({ id }: Session) =>
  fixture.test.admin(
    "update checkout.payment_intents set hold_check_at = now() where session_id = $1 and status = 'requires_capture'",
    [id],
  );

const canceledOnce = {
  status: { status: 'canceled', amountReceivedCents: 0, nextAction: null },
  told: { 'checkout.session.expired': 1, 'payment_intent.canceled': 2, 'payment_intent.created': 2 },
};

async function isCanceledOnce(session: Session, why?: string): Promise<void> {
  expect(await fixture.reload(session)).toMatchObject(canceledOnce.status);
  expect(await fixture.told(session)).toEqual(canceledOnce.told);
  expect(await kinds(session)).toEqual(['canceled', 'canceled']);
  if (why !== undefined) {
    const timeline = await readSessionTimeline(fixture.database, fixture.scope, session.id);
    const [ended] = (timeline?.entries ?? []).filter(({ type }) => type === 'session.canceled');
    expect(ended).toMatchObject({ code: why });
  }
  await fixture.booksAgree(session);
}

describe('a hold', () => {
  it('keeps until when the processor holds it, with the shopper and without [D14.175]', async () => {
    const before = Date.now();
    const held = await fixture.held();
    const credit = await fixture.card('credit', { offSession: true });
    const absent = await fixture.session({
      ...{ mode: 'off_session', captureMethod: 'manual', lines: [line({ unitAmount: 5_000 })] },
      ...{ customerId: credit.customerId, paymentMethodId: credit.id },
    });
    const heldFor = async (of: Session) => Math.round(((await lapsesAt(of)).getTime() - before) / hour);
    expect([await heldFor(held), await heldFor(absent)]).toEqual([168, 114]);
  });

  it('is left alone until an hour before it lapses [D14.176]', async () => {
    const session = await fixture.held();
    await setClockBefore(session, hour + 1_000);
    await follow();
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid' });
    expect(await kinds(session)).toEqual(['requires_capture', 'requires_capture']);
  });

  it('that the shop did not capture ends its session before it lapses: voided, announced, once [D14.176]', async () => {
    const session = await fixture.held();
    await setClockBefore(session, hour - 2_000);
    await follow();
    await follow();
    await isCanceledOnce(session, 'hold_lapsed');
    expect(await refusal(fixture.capture(session))).toEqual([400, 'checkout_session_canceled']);
  });

  it('of which a part was captured is released, and the session stands for that part [D14.176]', async () => {
    const session = await fixture.held();
    await fixture.capture(session, { amount: 2_000 });
    await setClockBefore(session, hour - 2_000);
    await follow();
    await fixture.sweepAll();
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 2_000 });
    expect(await kinds(session)).toEqual(['succeeded', 'succeeded']);
    await fixture.booksAgree(session);
  });

  it('of the release before this one is looked at once, and its time is stored [D14.175]', async () => {
    const session = await fixture.held();
    const known = await lapsesAt(session);
    await fixture.test.admin(
      "update checkout.payment_intents set capture_before = null, hold_check_at = '1970-01-01T00:00:00Z' where session_id = $1",
      [session.id],
    );
    await follow();
    expect(await lapsesAt(session)).toEqual(known);
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid' });
  });

  it('is decided on only once the processor has answered, and looked at again minutes later [D14.176]', async () => {
    const session = await fixture.held();
    await setClockBefore(session, hour - 2_000);
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'error_before', times: 2 });
    await follow();
    await follow();
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid' });
    fixture.clock.set(new Date(fixture.clock.now().getTime() + 5 * 60_000));
    await follow();
    await isCanceledOnce(session);
  });
});

describe('a hold that is gone', () => {
  // As a bank does, whose time is not the one that it said.
  const gone = async (session: Session, legs: readonly ('health' | 'other')[] = ['health']) => {
    for (const leg of legs) await fixture.cancelAtProcessor(session, leg);
  };

  it('is found by the event of the processor, and ends its session as canceled, never as captured [D14.29, D14.177]', async () => {
    const session = await fixture.held();
    await gone(session);
    const [row] = await fixture.test.admin<{ processor_intent_id: string }>(
      "select processor_intent_id from checkout.charge_attempts where subject_id = $1 and leg = 'health'",
      [session.id],
    );
    const event = { processor: 'sandbox', eventId: `evt_${session.id}`, type: 'payment_intent.canceled' };
    await acceptProcessorEvent(fixture.context, fixture.scope, {
      ...{ ...event, objectId: row?.processor_intent_id ?? '', createdAt: new Date() },
    });
    await follow();
    await fixture.sweepAll();
    await isCanceledOnce(session);
  });

  it('because it lapsed at the processor is found by the job, and by a capture that comes first [D14.29, D14.177]', async () => {
    const [left, captured] = [await fixture.held(), await fixture.held()];
    await fixture.advanceProcessor(7 * day);
    expect(await kinds(left)).toEqual(['canceled', 'canceled']);
    expect(await refusal(fixture.capture(captured))).toEqual([409, 'checkout_session_not_capturable']);
    await setClockBefore(left, -1_000);
    await follow();
    await fixture.sweepAll();
    for (const session of [left, captured]) await isCanceledOnce(session, 'hold_lost');
  });

  it('leaves what was captured before, and completes the session once nothing is held [D14.104, D14.177]', async () => {
    const session = await fixture.held();
    await fixture.capture(session, { amount: 2_000 });
    await fixture.advanceProcessor(7 * day);
    await setClockBefore(session, -1_000);
    await follow();
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 2_000 });
    expect(await kinds(session)).toEqual(['succeeded', 'succeeded']);
    await fixture.booksAgree(session);
  });

  it('ends the review of its letter, and voids the other card [D14.77, D14.177]', async () => {
    const letters = lettersFixture(fixture);
    const cards = [await fixture.card('hsa'), await fixture.card('credit')];
    const session = await fixture.session({ lines: [letterLine(3_000), line({ unitAmount: 2_000 })] });
    await letters.pay(session, cards);
    await gone(session);
    await makeDue(session);
    fixture.clock.set(new Date(Date.now() + hour));
    await follow();
    await fixture.sweepAll();
    await isCanceledOnce(session, 'hold_lost');
    expect(await letters.lettersOf(session)).toMatchObject([{ status: 'expired' }]);
  });

  it('of an open session leaves it open for another card [D14.177]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await pay(fixture, session, [card]);
    await gone(session);
    await makeDue(session);
    fixture.clock.set(new Date(Date.now() + hour));
    await follow();
    fixture.clock.set(start);
    expect(await fixture.reload(session)).toMatchObject({ status: 'open' });
    const credit = await fixture.card('credit');
    // The other card is not charged for a session whose health card is lost.
    expect(await pay(fixture, session, [credit])).toMatchObject({ status: 'open', amountReceivedCents: 0 });
    expect(await pay(fixture, session, [card, credit])).toMatchObject({
      status: 'complete',
      amountReceivedCents: 10_000,
    });
    expect((await fixture.charges(session)).map((charge) => charge.amount_captured).sort()).toEqual([0, 4_000, 6_000]);
  });

  it.each([true, false])(
    'or about to lapse, while its capture is in flight, is left to the capture: gone %s [D14.176, D14.177]',
    async (isGone) => {
      const session = await fixture.held();
      turnFailpointsOn();
      armFailpoint('capture.claimed', { action: 'error' });
      await expect(fixture.capture(session)).rejects.toThrow();
      turnFailpointsOff();
      await setClockBefore(session, hour - 2_000);
      if (isGone) await gone(session, ['health', 'other']);
      await follow();
      expect(await fixture.reload(session)).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
      await fixture.sweepAll();
      if (isGone) return isCanceledOnce(session, 'hold_lost');
      expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000 });
      return fixture.booksAgree(session);
    },
  );

  /** Captures what is left of the only hold, or a part of it, at the processor, and follows it until it is looked at again. */
  async function capturedElsewhere(session: Session, part?: Cents) {
    const [attempt] = await fixture.test.admin<{ intent: string }>(
      'select processor_intent_id as intent from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    const [intentId, processor] = [attempt?.intent ?? '', fixture.context.processors.of(fixture.scope)];
    const input = { finalCapture: part === undefined, ...(part === undefined ? {} : { amountCents: part }) };
    await processor.captureIntent(intentId, input, { idempotencyKey: newId('capture') });
    const errors: string[] = [];
    const error = { value: (_fields: unknown, message: string) => errors.push(message) };
    const logger = Object.create(fixture.context.logger, { error });
    fixture.clock.set(new Date());
    const lookAgain = async () => {
      await makeDue(session);
      fixture.clock.set(new Date(fixture.clock.now().getTime() + hour));
      await follow({ ...fixture.context, logger });
      return [errors.length, await countCapturedElsewhere(fixture.database)];
    };
    const refund = (amountCents: Cents, refundId = newId('refund')) =>
      processor.createRefund({ refundId, intentId, amountCents }, { idempotencyKey: refundId });
    const cancel = () => processor.cancelIntent(intentId, { idempotencyKey: newId('capture') });
    return { errors, lookAgain, refund, cancel };
  }

  it('and captured by someone else is told once, counted, and ends as a lost one when it is refunded there [D14.177, D14.241]', async () => {
    const session = await fixture.heldOnOneCard();
    const { errors, lookAgain, refund } = await capturedElsewhere(session);
    for (let look = 0; look < 3; look++) expect(await lookAgain()).toEqual([1, 1]);
    expect(errors[0]).toMatch(/refund it at the processor/);
    await refund(session.amountTotalCents);
    expect(await lookAgain()).toEqual([1, 0]);
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
  });

  it('and captured in part by someone else is told with another remedy: a refund alone does not end it [D14.177, D14.241]', async () => {
    const session = await fixture.heldOnOneCard();
    const { errors, lookAgain, refund, cancel } = await capturedElsewhere(session, cents(2_000));
    expect(await lookAgain()).toEqual([1, 1]);
    expect(errors[0]).toMatch(/cancel the remainder and refund the part/);
    await refund(cents(2_000));
    expect(await lookAgain()).toEqual([1, 1]);
    await cancel();
    expect(await lookAgain()).toEqual([1, 0]);
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
  });

  it('and captured by someone else after a part was captured ends once what Eligo did not capture is refunded there [D14.177, D14.241]', async () => {
    const session = await fixture.heldOnOneCard();
    await fixture.capture(session, { amount: 2_000 });
    const { errors, lookAgain, refund } = await capturedElsewhere(session);
    expect(await lookAgain()).toEqual([1, 1]);
    expect(errors[0]).toMatch(/refund the amount that Eligo did not capture/);
    await refund(cents(session.amountTotalCents - 2_001));
    expect(await lookAgain()).toEqual([1, 1]);
    await refund(cents(1));
    expect(await lookAgain()).toEqual([1, 0]);
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 2_000 });
  });
});

const places: readonly ChargeFailpoint[] = [
  'follow_hold.claimed',
  'follow_hold.processor_answered',
  'follow_hold.before_end_commit',
  'follow_hold.ended',
];
const cases = [
  ...places.flatMap((place) =>
    (['about to lapse', 'gone', 'gone after a part was captured'] as const).map((what) => [place, what] as const),
  ),
  ...(['hold.processor_answered', 'hold.before_record_commit'] as const).map(
    (place) => [place, 'about to lapse'] as const,
  ),
];

describe('a process that dies at a hold’s end', () => {
  it.each(cases)('at %s, with a hold that is %s, ends the session once [D14.176, D14.177]', async (place, what) => {
    const session = await fixture.held();
    if (what === 'gone after a part was captured') await fixture.capture(session, { amount: 2_000 });
    await setClockBefore(session, what === 'about to lapse' ? hour - 2_000 : -2_000);
    if (what !== 'about to lapse') await fixture.advanceProcessor(7 * day);
    turnFailpointsOn();
    armFailpoint(place, { action: 'error' });
    await follow();
    turnFailpointsOff();
    await makeDue(session);
    fixture.clock.set(new Date(fixture.clock.now().getTime() + hour));
    await follow();
    await fixture.sweepAll();
    await follow();
    if (what !== 'gone after a part was captured') {
      return isCanceledOnce(session, what === 'gone' ? 'hold_lost' : 'hold_lapsed');
    }
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 2_000 });
    expect(await fixture.told(session)).toMatchObject({
      ...{ 'checkout.session.completed': 1, 'payment_intent.succeeded': 2 },
    });
    return fixture.booksAgree(session);
  });
});

describe('due holds', () => {
  const hold = (account: string, count: number, checkAt: string) =>
    fixture.test.admin(
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, amount_capturable_cents, created_at, hold_check_at, processor_intent_id)
       select $1, true, $1 || n, 'fcs_busy', 'other', 'manual', 'requires_capture', 500, 500, now(), $3, $1 || n from generate_series(1, $2) n`,
      [account, count, checkAt],
    );
  const found = async (most: number, after = firstTurn) => {
    const { due, last } = await holdTurns(fixture.database, new Date(Date.now() + hour), after, most);
    return { accounts: due.map(({ accountId }) => accountId), last };
  };

  it('are found in the accounts that have one, which take turns, also behind a backlog of one [D14.176, D14.241]', async () => {
    const ours = fixture.scope.accountId;
    await hold('facct_idle', 3, '2999-01-01');
    expect(await found(10)).toEqual({ accounts: [], last: undefined });
    const session = await fixture.held();
    await makeDue(session);
    await hold('facct_busy', 50, '2020-01-01');
    expect((await found(10)).accounts.sort()).toEqual([ours, 'facct_busy'].sort());
    const first = await found(1);
    const second = await found(1, first.last);
    expect([...first.accounts, ...second.accounts].sort()).toEqual([ours, 'facct_busy'].sort());
    expect(await nextHoldInMs(fixture.database, new Date())).toBeLessThan(0);
    // More than one look takes: the account of the others is found all the same.
    await hold('facct_huge', 300, '2019-01-01');
    expect((await found(10)).accounts.sort()).toEqual([ours, 'facct_busy', 'facct_huge'].sort());
    const some = await dueHolds(fixture.database, { accountId: 'facct_huge', testMode: true }, new Date(), 16);
    expect(some).toHaveLength(16);
    await fixture.test.admin("delete from checkout.payment_intents where session_id = 'fcs_busy'");
  });

  it('of an account whose processor stalls keep no other account waiting, and none begins after a stop [D14.241]', async () => {
    for (const accountId of ['facct_stalled', 'facct_a', 'facct_b']) await hold(accountId, 20, '2020-01-01');
    const [stalled, stop] = [Promise.withResolvers<void>(), new AbortController()];
    const asked = new Map<string, number>();
    const port = (accountId: string): ProcessorPort => ({
      ...fixture.context.processors.of(fixture.scope),
      async retrieveIntent() {
        asked.set(accountId, (asked.get(accountId) ?? 0) + 1);
        if (accountId === 'facct_stalled') await stalled.promise;
        return { kind: 'unknown', replayed: false } as never;
      },
    });
    const processors = Object.create(fixture.context.processors, {
      findAt: { value: (scope: Scope) => port(scope.accountId) },
    });
    const run = followHolds({ ...fixture.context, processors }).run(stop.signal);
    // The turns begin in no order: the stalled account may ask last.
    const counts = () => ['facct_a', 'facct_b', 'facct_stalled'].map((id) => asked.get(id)).join();
    await waitUntil(() => counts() === '16,16,2', { what: 'their turns' });
    stop.abort();
    stalled.resolve();
    await run;
    expect(asked.get('facct_stalled')).toBe(2);
    await fixture.test.admin("delete from checkout.payment_intents where session_id = 'fcs_busy'");
  });
});
