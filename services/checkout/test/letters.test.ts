import { withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { expireLetterIfDue } from '../src/actions/expire-letter.ts';
import { reviewEnd, validityEnd } from '../src/domain/letter.ts';
import { expireLetters } from '../src/jobs/expire-letters.ts';
import { mirrorTestClock, settledClocks } from '../src/store/test-clocks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, start } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  fixture.clock.set(start);
  await fixture.clearFaults();
});

describe('the letters of an authorized session', () => {
  it('are opened one for each product that needs one, for its customer, with the page’s URL [D14.75]', async () => {
    const twice = newId('product');
    const lines = [letterLine(1_000, twice), letterLine(700, twice), letterLine(500), line({ unitAmount: 2_000 })];
    const session = await letters.held(lines);
    const url = session.details.redirectUrl ?? '';
    expect(url).toMatch(/^http/);
    expect(session).toMatchObject({ status: 'paid', nextAction: { type: 'collect_letter_of_medical_necessity', url } });
    const opened = await letters.lettersOf(session);
    expect(opened.filter((letter) => letter.productId === twice)).toHaveLength(1);
    expect(opened).toHaveLength(2);
    for (const letter of opened) {
      expect(letter).toMatchObject({ status: 'in_review', customerId: session.customerId, url, validUntil: null });
    }
  });

  it('are opened by a confirm too, whose stored answer names the URL [D14.75]', async () => {
    const session = await letters.confirmed();
    expect(session).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
    expect(session.nextAction).toEqual({
      type: 'collect_letter_of_medical_necessity',
      url: session.details.redirectUrl,
    });
    expect(await letters.onlyLetter(session)).toMatchObject({ status: 'in_review' });
  });

  it('are none where an ordinary card pays everything, or where the shop captures by itself without such a line', async () => {
    const credit = await fixture.card('credit');
    const ordinary = await fixture.session({ lines: [letterLine(3_000)] });
    expect(await letters.pay(ordinary, [credit])).toMatchObject({ status: 'complete' });
    expect(await letters.lettersOf(ordinary)).toEqual([]);
    const manual = await letters.held([line({ unitAmount: 3_000, class: 'vision' })], { captureMethod: 'manual' });
    expect(manual).toMatchObject({ status: 'paid', nextAction: null });
    expect(await letters.lettersOf(manual)).toEqual([]);
  });
});

describe('an approval', () => {
  it('captures both cards and completes the session, with its events, once [STATE-1, D14.76]', async () => {
    const session = await letters.held();
    const letter = await letters.onlyLetter(session);
    expect(await letters.decide(letter, 'approved')).toMatchObject({
      status: 'approved',
      validUntil: validityEnd(start),
    });
    expect(await letters.reload(session)).toMatchObject({
      ...{ status: 'complete', nextAction: null, amountReceivedCents: 5_000 },
      completedAt: start,
    });
    expect(await letters.captured(session)).toEqual([
      [2_000, 2_000, 'succeeded'],
      [3_000, 3_000, 'succeeded'],
    ]);
    expect(await letters.told(letter)).toEqual(['consultation.approved']);
    expect(await fixture.told(session)).toMatchObject({
      'checkout.session.completed': 1,
      'payment_intent.succeeded': 2,
    });
  });

  it('captures a confirm’s hold, its eligible part alone [STATE-1, D14.76]', async () => {
    const session = await letters.confirmed();
    await letters.decide(await letters.onlyLetter(session), 'approved');
    expect(await letters.reload(session)).toMatchObject({
      status: 'complete',
      nextAction: null,
      amountReceivedCents: 3_000,
    });
    expect(await letters.captured(session)).toEqual([[3_000, 3_000, 'succeeded']]);
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.completed': 1 });
  });

  it('of one letter leaves the holds until the last one is approved [D14.76]', async () => {
    const session = await letters.held([letterLine(1_000), letterLine(700), line({ unitAmount: 2_000 })]);
    const [first, second] = await letters.lettersOf(session);
    if (!first || !second) throw new Error('two letters');
    await letters.decide(first, 'approved');
    await letters.sweepAll();
    expect(await letters.reload(session)).toMatchObject({
      ...{ status: 'paid', amountReceivedCents: 0 },
      nextAction: { type: 'collect_letter_of_medical_necessity' },
    });
    await letters.decide(second, 'approved');
    expect(await letters.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 3_700 });
  });

  it('leaves the capture to a shop that captures by itself [D14.76]', async () => {
    const session = await letters.held(undefined, { captureMethod: 'manual' });
    await letters.decide(await letters.onlyLetter(session), 'approved');
    await letters.sweepAll();
    expect(await letters.reload(session)).toMatchObject({ status: 'paid', nextAction: null, amountReceivedCents: 0 });
  });

  it.each([
    'letter.before_decision_commit',
    'letter.decided',
    'hold.processor_answered',
    'hold.before_record_commit',
  ] as const)('that dies at %s ends as it was decided, or not at all [D14.76]', async (failpoint) => {
    const session = await letters.held();
    const letter = await letters.onlyLetter(session);
    turnFailpointsOn();
    armFailpoint(failpoint, { action: 'error' });
    await letters.decide(letter, 'approved').catch(() => undefined);
    turnFailpointsOff();
    await letters.sweepAll();
    const isDecided = failpoint !== 'letter.before_decision_commit';
    expect(await letters.onlyLetter(session)).toMatchObject({ status: isDecided ? 'approved' : 'in_review' });
    expect(await letters.told(letter)).toEqual(isDecided ? ['consultation.approved'] : []);
    expect(await letters.reload(session)).toMatchObject(
      isDecided ? { status: 'complete', amountReceivedCents: 5_000 } : { status: 'paid', amountReceivedCents: 0 },
    );
    expect((await letters.captured(session)).map(([, amount]) => amount)).toEqual(isDecided ? [2_000, 3_000] : [0, 0]);
  });

  it.each(['error_before', 'error_after', 'drop_before', 'drop_after'] as const)(
    'captures each card once although the capture meets %s',
    async (kind) => {
      for (const session of [await letters.held(), await letters.confirmed()]) {
        await fixture.fault({ call: 'payment_intents.capture', kind, times: 1 });
        await letters.decide(await letters.onlyLetter(session), 'approved');
        await letters.sweepAll();
        expect(await letters.reload(session)).toMatchObject({ status: 'complete' });
        for (const [amount, taken] of await letters.captured(session)) expect(taken).toBe(amount);
        expect(await fixture.told(session)).toMatchObject({ 'checkout.session.completed': 1 });
      }
    },
  );

  it.each(['health', 'other'] as const)(
    'of a session whose %s hold is gone cancels it and leaves no money [D14.29]',
    async (leg) => {
      const session = await letters.held();
      await fixture.cancelAtProcessor(session, leg);
      await letters.decide(await letters.onlyLetter(session), 'approved');
      await letters.sweepAll();
      expect(await letters.reload(session)).toMatchObject({ status: 'canceled', nextAction: null });
      const after = await letters.reload(session);
      // The health card's capture comes first; what it gave is refunded.
      expect(await fixture.told(session)).toMatchObject(
        (after?.amountReceivedCents ?? 0) > 0
          ? { 'command.refund': 1, 'checkout.session.expired': 1 }
          : { 'checkout.session.expired': 1 },
      );
      expect(await letters.onlyLetter(session)).toMatchObject({ status: 'approved' });
    },
  );
});

describe('a denial', () => {
  it('cancels the session and voids both holds, with its events [STATE-1, D14.76]', async () => {
    const session = await letters.held();
    const letter = await letters.onlyLetter(session);
    expect(await letters.decide(letter, 'denied')).toMatchObject({ status: 'denied', validUntil: null });
    expect(await letters.reload(session)).toMatchObject({
      status: 'canceled',
      nextAction: null,
      amountReceivedCents: 0,
    });
    const intents = await fixture.test.admin<{ status: string }>(
      'select status from checkout.payment_intents where session_id = $1',
      [session.id],
    );
    expect(intents.map(({ status }) => status)).toEqual(['canceled', 'canceled']);
    expect(await letters.told(letter)).toEqual(['consultation.denied']);
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.expired': 1, 'payment_intent.canceled': 2 });
  });

  it.each([
    'letter.before_decision_commit',
    'letter.decided',
    'hold.processor_answered',
    'hold.before_record_commit',
    'hold.recorded',
  ] as const)('that dies at %s voids both holds, or has decided nothing [D14.76]', async (failpoint) => {
    const session = await letters.held();
    const letter = await letters.onlyLetter(session);
    turnFailpointsOn();
    armFailpoint(failpoint, { action: 'error' });
    await letters.decide(letter, 'denied').catch(() => undefined);
    turnFailpointsOff();
    await letters.sweepAll();
    const isDecided = failpoint !== 'letter.before_decision_commit';
    expect(await letters.onlyLetter(session)).toMatchObject({ status: isDecided ? 'denied' : 'in_review' });
    expect(await letters.told(letter)).toEqual(isDecided ? ['consultation.denied'] : []);
    const status = isDecided ? 'canceled' : 'paid';
    expect(await letters.reload(session)).toMatchObject({ status, amountReceivedCents: 0 });
    const intents = await fixture.test.admin<{ status: string }>(
      'select status from checkout.payment_intents where session_id = $1',
      [session.id],
    );
    const held = isDecided ? 'canceled' : 'requires_capture';
    expect(intents.map((intent) => intent.status)).toEqual([held, held]);
    expect((await letters.captured(session)).map(([, amount]) => amount)).toEqual([0, 0]);
  });

  it('ends the other letters of the session as expired', async () => {
    const session = await letters.held([letterLine(1_000), letterLine(700)]);
    const [approved, denied] = await letters.lettersOf(session);
    if (!approved || !denied) throw new Error('two letters');
    await letters.decide(denied, 'denied');
    expect((await letters.lettersOf(session)).map(({ status }) => status).sort()).toEqual(['denied', 'expired']);
    expect(await letters.told(approved)).toEqual(['consultation.expired']);
    await expect(letters.decide(approved, 'approved')).rejects.toMatchObject({ code: 'letter_not_in_review' });
  });

  it('that dies after its commit voids the holds all the same', async () => {
    const session = await letters.held();
    turnFailpointsOn();
    armFailpoint('letter.decided', { action: 'error' });
    await expect(letters.decide(await letters.onlyLetter(session), 'denied')).rejects.toThrow();
    turnFailpointsOff();
    await letters.sweepAll();
    expect(await letters.reload(session)).toMatchObject({ status: 'canceled' });
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.expired': 1, 'payment_intent.canceled': 2 });
  });
});

describe('one winner', () => {
  it('of an approval and a denial at the same time, and of two reviewers [D14.76]', async () => {
    for (let round = 0; round < 5; round++) {
      const session = await letters.held();
      const letter = await letters.onlyLetter(session);
      const verdicts = ['approved', 'denied', 'approved', 'denied'] as const;
      const outcomes = await Promise.allSettled(verdicts.map((verdict) => letters.decide(letter, verdict)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'letter_not_in_review' });
      }
      await letters.sweepAll();
      const { status } = await letters.onlyLetter(session);
      expect(await letters.told(letter)).toEqual([`consultation.${status}`]);
      expect(await letters.reload(session)).toMatchObject(
        status === 'approved'
          ? { status: 'complete', amountReceivedCents: 5_000 }
          : { status: 'canceled', amountReceivedCents: 0 },
      );
    }
  });

  it('of an approval and a cancellation at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const session = await letters.held();
      const letter = await letters.onlyLetter(session);
      const [approval, cancellation] = await Promise.allSettled([
        letters.decide(letter, 'approved'),
        cancelSession(fixture.context, fixture.scope, session.id),
      ]);
      expect([approval.status, cancellation.status].sort()).toEqual(['fulfilled', 'rejected']);
      await letters.sweepAll();
      const isApproved = approval.status === 'fulfilled';
      expect(await letters.onlyLetter(session)).toMatchObject({ status: isApproved ? 'approved' : 'expired' });
      expect(await letters.reload(session)).toMatchObject({ status: isApproved ? 'complete' : 'canceled' });
    }
  });

  it('the approval, while its capture has not been requested at the processor yet', async () => {
    for (const session of [await letters.held(), await letters.confirmed()]) {
      turnFailpointsOn();
      armFailpoint('letter.decided', { action: 'error' });
      await expect(letters.decide(await letters.onlyLetter(session), 'approved')).rejects.toThrow();
      turnFailpointsOff();
      const cancellation = cancelSession(fixture.context, fixture.scope, session.id);
      await expect(cancellation).rejects.toMatchObject({ code: 'lock_timeout' });
      await letters.sweepAll();
      expect(await letters.reload(session)).toMatchObject({ status: 'complete' });
    }
  });

  it('a letter that does not exist, and one of another account, are not found', async () => {
    const letter = await letters.onlyLetter(await letters.held());
    await expect(letters.decide({ ...letter, id: newId('letter') }, 'approved')).rejects.toMatchObject({
      code: 'letter_not_found',
    });
    const other = { ...fixture.scope, accountId: newId('account') };
    await expect(decideLetter(fixture.context, other, letter.id, 'approved')).rejects.toMatchObject({
      code: 'letter_not_found',
    });
  });
});

describe('a cancellation by the shop', () => {
  it('ends the review, and says so [D14.77]', async () => {
    const session = await letters.held();
    const letter = await letters.onlyLetter(session);
    await cancelSession(fixture.context, fixture.scope, session.id);
    expect(await letters.onlyLetter(session)).toMatchObject({ status: 'expired', decidedAt: start });
    expect(await letters.told(letter)).toEqual(['consultation.expired']);
  });
});

describe('a review that nobody decides', () => {
  const job = () => expireLetters(fixture.context).run(new AbortController().signal);

  it('ends before its holds lapse: the letter expires, the session is canceled, the holds are voided [STATE-1, D14.77]', async () => {
    const session = await letters.held(undefined, {}, false);
    const letter = await letters.onlyLetter(session);
    expect(letter.reviewUntil).toEqual(reviewEnd(start, false));
    fixture.clock.set(new Date(letter.reviewUntil.getTime() - 1));
    expect(await expireLetterIfDue(fixture.context, fixture.scope, letter.id)).toBe(false);
    fixture.clock.set(letter.reviewUntil);
    await expect(letters.decide(letter, 'approved')).rejects.toMatchObject({ code: 'letter_not_in_review' });
    await job();
    await letters.sweepAll();
    expect(await letters.onlyLetter(session)).toMatchObject({ status: 'expired', decidedAt: letter.reviewUntil });
    expect(await letters.reload(session)).toMatchObject({ status: 'canceled', nextAction: null });
    expect(await letters.told(letter)).toEqual(['consultation.expired']);
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.expired': 1, 'payment_intent.canceled': 2 });
  });

  it('lasts four days with a card that is charged without its owner, and six otherwise', () => {
    expect(reviewEnd(start, true)).toEqual(new Date('2026-03-05T12:00:00Z'));
    expect(reviewEnd(start, false)).toEqual(new Date('2026-03-07T12:00:00Z'));
  });

  it('wakes its job when it is due, and follows its customer’s test clock [D14.77]', async () => {
    const hsa = await fixture.card('hsa');
    const clockId = newId('test_clock');
    await withTx(fixture.database, fixture.scope, (tx) => mirrorTestClock(tx, fixture.scope, clockId, start, null));
    await fixture.test.admin('update checkout.customers set test_clock_id = $2 where id = $1', [
      hsa.customerId,
      clockId,
    ]);
    const session = await fixture.session({ lines: [letterLine(3_000)], customerId: hsa.customerId });
    await letters.pay(session, [hsa]);
    const letter = await letters.onlyLetter(session);
    await withTx(fixture.database, fixture.scope, (tx) =>
      mirrorTestClock(tx, fixture.scope, clockId, letter.reviewUntil, null),
    );
    const settled = async () => (await settledClocks(fixture.database, 100)).map(({ id }) => id);
    expect(await settled()).not.toContain(clockId);
    await job();
    expect(await letters.onlyLetter(session)).toMatchObject({ status: 'expired', decidedAt: letter.reviewUntil });
    expect(await settled()).toContain(clockId);

    await letters.held();
    const [next] = await fixture.test.admin<{ at: Date }>(
      "select min(review_until) as at from checkout.letters where status = 'in_review' and test_clock_id is null",
    );
    expect(await job()).toEqual({ dueInMs: (next?.at.getTime() ?? 0) - start.getTime() });
  });
});

describe('the validity of a letter', () => {
  it('is twelve months, within February where it began on its 29th [D14.75]', () => {
    expect(validityEnd(new Date('2026-03-01T12:00:00Z'))).toEqual(new Date('2027-03-01T12:00:00Z'));
    expect(validityEnd(new Date('2028-02-29T12:00:00Z'))).toEqual(new Date('2029-02-28T12:00:00Z'));
  });
});
