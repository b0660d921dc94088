import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { mostRenewals } from '../src/domain/hold-renewal.ts';
import { reviewEnd } from '../src/domain/letter.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { expireLetters } from '../src/jobs/expire-letters.ts';
import { findPageCard } from '../src/store/page-cards.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { line } from './fixture.ts';
import { type LettersFixture, letterLine } from './letters-fixture.ts';
import { renewalLayerTests } from './renewal-layers.ts';
import { day, held, hour, openRenewalsFixture, type RenewalsFixture } from './renewals-fixture.ts';

let fixture: RenewalsFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openRenewalsFixture();
  letters = fixture.letters;
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
  // What one test leaves held is not due in the next one.
  await fixture.test.admin(
    "update checkout.payment_intents set hold_check_at = '2999-01-01' where status = 'requires_capture'",
  );
});

// A hold is renewed 36 hours before it lapses, and ends its session an hour before.
const look = 34 * hour;

describe('a review of 20 days', () => {
  it('keeps one hold of each card at all times, and its approval captures each once [D14.240]', async () => {
    const session = await letters.held();
    for (let passed = 0; passed < 20 * day; passed += look) {
      await fixture.pass(look);
      await fixture.follow();
      const { health, other } = await fixture.kinds(session);
      expect([held(health), held(other)]).toEqual([1, 1]);
    }
    const now = await fixture.reload(session);
    expect(now).toMatchObject({ status: 'paid', splitCartId: session.splitCartId, amountReceivedCents: 0 });
    expect(now.paymentIntentIds).toHaveLength(2);
    expect(now.paymentIntentIds).not.toEqual(session.paymentIntentIds);
    const { health, other } = await fixture.kinds(session);
    // Seven days with the shopper there, and four days and 18 hours without.
    expect([health.length, other.length]).toEqual([5, 5]);
    const told = await fixture.told(session);
    expect(told).toMatchObject({ 'payment_intent.created': 10, 'payment_intent.canceled': 8 });
    const renewed = (await fixture.timeline(session)).filter(({ code }) => code === 'hold_renewed');
    expect(renewed).toHaveLength(8);
    await fixture.isCapturedOnce(session, [2_000, 3_000]);
    expect(await fixture.told(session)).toMatchObject({
      'payment_intent.succeeded': 2,
      'checkout.session.completed': 1,
    });
  });

  it('of a confirm’s hold, and of a card that was approved for a part, ends the same way [D14.240]', async () => {
    const confirmed = await letters.confirmed();
    const [short, credit] = [await fixture.card('hsa_short'), await fixture.card('credit')];
    const inPart = await fixture.session({ lines: [letterLine(3_000), line({ unitAmount: 2_000 })] });
    const given = { sessionId: inPart.id, paymentMethodIds: [short.id], shippingDetails: null, acceptsPart: true };
    await completeSession(fixture.context, fixture.scope, given);
    expect(await letters.pay(inPart, [credit])).toMatchObject({ status: 'paid' });
    for (let passed = 0; passed < 20 * day; passed += look) {
      await fixture.pass(look);
      await fixture.follow();
    }
    for (const session of [confirmed, inPart]) expect((await fixture.kinds(session)).health.length).toBeGreaterThan(2);
    await fixture.isCapturedOnce(confirmed, [3_000]);
    await fixture.isCapturedOnce(inPart, [2_500, 2_500]);
  });

  it('that is denied voids every hold, and one that nobody decides expires after 30 days [D14.77, D14.240]', async () => {
    const [denied, forgotten] = [await letters.held(), await fixture.heldOnHealthCard()];
    const letter = await letters.onlyLetter(forgotten);
    expect(letter.reviewUntil.getTime() - letter.createdAt.getTime()).toBe(30 * day);
    for (let passed = 0; passed < 30 * day; passed += look) {
      if (passed === 14 * look) await letters.decide(await letters.onlyLetter(denied), 'denied');
      await fixture.pass(look);
      await fixture.follow();
    }
    await expireLetters(fixture.context).run(new AbortController().signal);
    await fixture.sweepAll();
    for (const session of [denied, forgotten]) await fixture.isVoided(session);
    expect(await letters.onlyLetter(forgotten)).toMatchObject({ status: 'expired' });
    expect((await fixture.timeline(forgotten)).find(({ type }) => type === 'session.canceled')).toMatchObject({
      code: 'letter_expired',
    });
  });
});

describe('a card that was typed on the page', () => {
  it('is authorized again for its own session, and charged by the shop for no other one [D14.36, D14.240]', async () => {
    const session = await fixture.session({ lines: [letterLine(3_000)] });
    const token = await fixture.confirmationToken('tok_hsa');
    const kept: boolean[] = [];
    const context = fixture.contextWith((port) => ({
      createIntent(input, call) {
        kept.push(input.keepsCardFor === 'off_session');
        return port.createIntent(input, call);
      },
    }));
    const given = {
      sessionId: session.id,
      paymentMethod: token,
      secondPaymentMethod: undefined,
      slot: 'health',
    } as const;
    const shopper = { shippingDetails: null, onPage: true, refusesHealthCards: false };
    const paid = await completeWithCards(context, fixture.scope, { ...given, ...shopper });
    expect([paid.status, kept]).toEqual(['paid', [true]]);
    const { paymentMethodId = '' } = (await findPageCard(fixture.database, fixture.scope, token)) ?? {};
    const card = await findPaymentMethod(fixture.database, fixture.scope, paymentMethodId);
    if (card === undefined || paid.customerId === null) throw new Error('the card is kept for nobody');
    expect(card).toMatchObject({ customerId: paid.customerId, offSession: false });
    const other = await fixture.session({
      lines: [line({ unitAmount: 5_000, class: 'vision' })],
      customerId: paid.customerId,
    });
    await expect(fixture.confirm(other, card)).rejects.toMatchObject({ code: 'payment_method_not_off_session' });
    await fixture.due(paid);
    await fixture.follow();
    expect((await fixture.kinds(paid)).health).toEqual(['canceled', 'requires_capture']);
    await fixture.pass(3.5 * day);
    await fixture.follow();
    expect((await fixture.kinds(paid)).health).toEqual(['canceled', 'canceled', 'requires_capture']);
    await fixture.isCapturedOnce(paid, [3_000]);
  });
});

describe('a card that cannot be authorized again', () => {
  const refusing = (answer: unknown) =>
    fixture.contextWith(() => ({ confirmIntent: () => Promise.resolve(answer as never) }));
  const declined = { kind: 'declined', code: 'card_declined', declineCode: 'insufficient_funds', chargeId: 'ch_1' };

  it.each([
    ['a decline', declined, 'card_declined'],
    ['a bank that asks for the shopper', { kind: 'requires_action' }, 'authentication_required'],
  ])('because of %s leaves the hold until the review ends with it, and says why [D14.240]', async (_, answer, code) => {
    const session = await fixture.due(await letters.held());
    await fixture.follow(refusing(answer));
    const letter = await letters.onlyLetter(session);
    const left = letter.reviewUntil.getTime() - fixture.clock.now().getTime();
    expect(left / hour).toBeGreaterThan(17);
    expect(left / hour).toBeLessThan(18);
    expect(await fixture.told(session)).toMatchObject({ 'payment_intent.payment_failed': 2 });
    await fixture.lookAgain(session);
    await fixture.follow();
    // It is not tried again, and both cards are still held.
    const { health, other } = await fixture.kinds(session);
    expect([health.length, held(health), other.length, held(other)]).toEqual([2, 1, 2, 1]);
    await fixture.pass(18 * hour);
    await expireLetters(fixture.context).run(new AbortController().signal);
    await fixture.sweepAll();
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
    expect(await letters.told(letter)).toEqual(['consultation.expired']);
    const entries = await fixture.timeline(session);
    expect(entries.find(({ type }) => type === 'session.canceled')).toMatchObject({ code: 'hold_not_renewed' });
    expect(entries.find(({ type }) => type === 'payment.failed')).toMatchObject({ code });
  });

  it('because the processor rejects the request is logged as an error, also once the letter is decided [D14.240]', async () => {
    const session = await fixture.due(await fixture.heldOnHealthCard());
    const context = fixture.contextWith(() => ({
      async confirmIntent() {
        await letters.decide(await letters.onlyLetter(session), 'denied');
        return { kind: 'rejected', status: 400, code: 'parameter_invalid' } as never;
      },
    }));
    const errors: unknown[] = [];
    const error = ({ code }: { code: string }, message: string) => errors.push([code, message]);
    const logger = Object.create(context.logger, { error: { value: error } });
    await fixture.followOnce({ ...context, logger });
    expect(errors).toEqual([['parameter_invalid', expect.stringContaining('rejected the renewal of a hold')]]);
    await fixture.sweepAll();
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
  });

  it('can still be captured for a letter that is approved in the time that is left [D14.240]', async () => {
    const session = await fixture.due(await letters.held());
    await fixture.follow(refusing(declined));
    await fixture.isCapturedOnce(session, [2_000, 3_000]);
  });

  it('without its owner has a review as long as its hold, and is never sent without the owner [D14.77, D14.240]', async () => {
    const [kept, once] = [await fixture.card('hsa'), await fixture.card('credit', { offSession: false })];
    const session = await fixture.session({ lines: [letterLine(3_000), line({ unitAmount: 2_000 })] });
    await letters.pay(session, [kept, once]);
    const letter = await letters.onlyLetter(session);
    expect(letter.reviewUntil).toEqual(reviewEnd(letter.createdAt, false));
    await fixture.due(session);
    await fixture.lookAgain(session);
    await fixture.follow();
    const { health, other } = await fixture.kinds(session);
    expect([health.length, other.length]).toEqual([1, 1]);
  });

  it('because it was detached, or was authorized often enough, ends the review with its hold [D14.240]', async () => {
    const [detached, often] = [await fixture.heldOnHealthCard(), await fixture.heldOnHealthCard()];
    await fixture.test.admin(
      `update checkout.payment_methods set detached_at = now()
       where id in (select payment_method_id from checkout.payment_intents where session_id = $1)`,
      [detached.id],
    );
    await fixture.test.admin('update checkout.payment_intents set renewals = $2 where session_id = $1', [
      often.id,
      mostRenewals,
    ]);
    await fixture.due(detached);
    await fixture.follow();
    for (const session of [detached, often]) {
      expect((await fixture.kinds(session)).health).toEqual(['requires_capture']);
      const { reviewUntil } = await letters.onlyLetter(session);
      expect(reviewUntil.getTime() - fixture.clock.now().getTime()).toBeLessThan(18 * hour);
    }
  });
});

const places: readonly ChargeFailpoint[] = [
  'follow_hold.claimed',
  'follow_hold.processor_answered',
  'renewal.before_begin_commit',
  'renewal.begun',
  'charge.intent_created',
  'charge.fence_passed',
  'charge.processor_answered',
  'charge.before_settle',
  'charge.before_settle_commit',
  'charge.settled',
  'hold.processor_answered',
  'hold.before_record_commit',
  'hold.recorded',
];

describe('a process that dies in a renewal', () => {
  const dieAt = async (place: ChargeFailpoint) => {
    turnFailpointsOn();
    armFailpoint(place, { action: 'error' });
    await fixture.follow().catch(() => undefined);
    turnFailpointsOff();
  };

  it.each(places)('at %s leaves one hold, which is renewed and captured once [D14.240]', async (place) => {
    const session = await fixture.due(await fixture.heldOnHealthCard());
    await dieAt(place);
    await fixture.sweepAll();
    expect(held((await fixture.kinds(session)).health)).toBe(1);
    await fixture.lookAgain(session);
    await fixture.follow();
    await fixture.follow();
    const { health } = await fixture.kinds(session);
    expect(held(health)).toBe(1);
    expect(health.length).toBeGreaterThan(1);
    await fixture.isCapturedOnce(session, [3_000]);
  });

  it.each(['charge.fence_passed', 'charge.processor_answered', 'charge.before_settle_commit'] as const)(
    'at %s before a decision leaves what was decided: approved captures the old hold, denied voids both [D14.240]',
    async (place) => {
      const [approved, denied] = [await fixture.heldOnHealthCard(), await fixture.heldOnHealthCard()];
      await fixture.due(approved);
      turnFailpointsOn();
      armFailpoint(place, { action: 'error' });
      await fixture.followOnce();
      turnFailpointsOff();
      await letters.decide(await letters.onlyLetter(denied), 'denied');
      await fixture.isCapturedOnce(approved, [3_000]);
      await fixture.isVoided(denied);
    },
  );
});

describe('a renewal whose answer is lost', () => {
  it.each([
    ['payment_intents.create', 'drop_before'],
    ['payment_intents.confirm', 'drop_before'],
    ['payment_intents.confirm', 'drop_after'],
    ['payment_intents.cancel', 'drop_before'],
    ['payment_intents.cancel', 'drop_after'],
  ])('at %s by %s ends with one hold [D14.240]', async (call, kind) => {
    const session = await fixture.due(await fixture.heldOnHealthCard());
    await fixture.fault({ call, kind, times: 1 });
    await fixture.follow();
    await fixture.lookAgain(session);
    await fixture.follow();
    const { health } = await fixture.kinds(session);
    expect([health.length, held(health)]).toEqual([2, 1]);
    await fixture.isCapturedOnce(session, [3_000]);
  });

  it('for longer than it may be sent is canceled, and a later look renews the hold [D14.30, D14.240]', async () => {
    const session = await fixture.due(await fixture.heldOnHealthCard());
    const lost = fixture.contextWith((port) => ({
      async confirmIntent(...call) {
        await port.confirmIntent(...call);
        return { kind: 'unknown', replayed: false } as never;
      },
    }));
    await fixture.followOnce(lost);
    await fixture.test.admin(
      "update checkout.charge_attempts set confirm_until = now() where subject_id = $1 and purpose = 'renewal'",
      [session.id],
    );
    await fixture.sweepAll();
    expect((await fixture.kinds(session)).health).toEqual(['requires_capture', 'canceled']);
    await fixture.pass(6 * 60_000);
    await fixture.follow();
    expect((await fixture.kinds(session)).health).toEqual(['canceled', 'canceled', 'requires_capture']);
    await fixture.isCapturedOnce(session, [3_000]);
  });
});

describe('one winner', () => {
  it.each(['approved', 'denied', 'canceled'] as const)(
    'of a renewal and a session that is %s meanwhile [D14.240]',
    async (end) => {
      for (let round = 0; round < 2; round++) {
        const session = await fixture.due(await letters.held());
        const letter = await letters.onlyLetter(session);
        const decided =
          end === 'canceled'
            ? () => cancelSession(fixture.context, fixture.scope, session.id)
            : () => letters.decide(letter, end);
        await Promise.all([fixture.follow(), decided()]);
        await fixture.sweepAll();
        await fixture.sweepAll();
        if (end !== 'approved') {
          await fixture.isVoided(session);
          continue;
        }
        expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 5_000 });
        const taken = (await fixture.charges(session))
          .map((charge) => charge.amount_captured)
          .filter((amount) => amount > 0);
        expect(taken.sort()).toEqual([2_000, 3_000]);
        const { health, other } = await fixture.kinds(session);
        expect(held([...health, ...other])).toBe(0);
        await fixture.booksAgree(session);
      }
    },
  );
});

renewalLayerTests(() => fixture);
