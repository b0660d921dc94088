import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { capturePaymentIntent } from '../src/actions/capture-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { previewCapture } from '../src/actions/preview-capture.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { type CaptureParts, type CapturesFixture, openCapturesFixture, orderOf, refusal } from './captures-fixture.ts';
import { line } from './fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

// 30.00 + 6.00 tax on the health card, 20.00 + 4.00 tax on the other.
const whole = { health: 3_600, other: 2_400 };

describe('a capture of a session', () => {
  it('without an instruction takes all that its cards hold and completes it [SESS-6, D14.100]', async () => {
    const session = await fixture.held();
    const answer = await fixture.capture(session, { metadata: { parcel: '1' } });
    expect(answer).toMatchObject({ status: 'complete', amountReceivedCents: 6_000n });
    expect(await fixture.atProcessor(session)).toEqual([
      [2_400, 2_400, 'succeeded'],
      [3_600, 3_600, 'succeeded'],
    ]);
    const [record, ...others] = await fixture.records(session);
    expect(answer.captureIds).toEqual([record?.id]);
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      ...{ cause: 'session', amountCents: 6_000, taxCents: 1_000, isFinal: true, metadata: { parcel: '1' } },
      lines: [{ amountCents: whole.health }, { amountCents: whole.other }],
    });
    await fixture.booksAgree(session);
    expect(await fixture.told(session)).toMatchObject({
      ...{ 'checkout.session.completed': 1, 'payment_intent.succeeded': 2 },
    });
  });

  it('takes several parts by line, by amount and by component, and its last part completes it [SESS-6, D14.100, D14.101]', async () => {
    const session = await fixture.held();
    const [health = '', other = ''] = await fixture.prices(session);
    const first = await fixture.capture(session, { entries: [{ priceId: health, amount: 1_200 }] });
    expect(first).toMatchObject({ status: 'paid', amountReceivedCents: 1_200n });
    await fixture.booksAgree(session);
    const second = await fixture.capture(session, { entries: [{ priceId: other, amount: 1_000 }], tax: 200 });
    expect(second).toMatchObject({ status: 'paid', amountReceivedCents: 2_400n });
    expect(await fixture.capture(session, { amount: 600 })).toMatchObject({ amountReceivedCents: 3_000n });
    expect(await fixture.capture(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000n });
    const records = await fixture.records(session);
    expect(records.map((record) => [record.amountCents, record.taxCents, record.isFinal])).toEqual([
      [1_200, 200, false],
      [1_200, 200, false],
      [600, expect.any(Number), false],
      [3_000, expect.any(Number), true],
    ]);
    expect(records.reduce((sum, record) => sum + record.taxCents, 0)).toBe(1_000);
    await fixture.booksAgree(session);
    expect(await fixture.atProcessor(session)).toEqual([
      [2_400, 2_400, 'succeeded'],
      [3_600, 3_600, 'succeeded'],
    ]);
  });

  it('that is final voids what it does not take, on both cards [D14.101]', async () => {
    const session = await fixture.held();
    const [health = ''] = await fixture.prices(session);
    const answer = await fixture.capture(session, { entries: [{ priceId: health, amount: 500 }], isFinal: true });
    expect(answer).toMatchObject({ status: 'complete', amountReceivedCents: 500n });
    await fixture.sweepAll();
    expect(await fixture.atProcessor(session)).toEqual([
      [2_400, 0, 'canceled'],
      [3_600, 500, 'succeeded'],
    ]);
    const intents = await findIntents(fixture.database, fixture.scope, [
      ...(await fixture.reload(session)).paymentIntentIds,
    ]);
    expect(intents.map((intent) => [intent.status, intent.amountReceivedCents, intent.amountCapturableCents])).toEqual([
      ['succeeded', 500, 0],
      ['canceled', 0, 0],
    ]);
    await fixture.booksAgree(session);
  });

  it('that is final and takes nothing releases what is left, and nothing of a session of which nothing was taken [D14.101]', async () => {
    const session = await fixture.held();
    const release: CaptureParts = { amount: 0, isFinal: true, key: 'release' };
    expect(await refusal(fixture.capture(session, release))).toEqual([422, 'capture_amount_invalid']);
    await fixture.capture(session, { amount: 1_000 });
    const answer = await fixture.capture(session, release);
    expect(answer).toMatchObject({ status: 'complete', amountReceivedCents: 1_000n });
    expect(await fixture.capture(session, release)).toEqual(answer);
    await fixture.sweepAll();
    expect((await fixture.atProcessor(session)).map(([, taken, status]) => [taken, status])).toEqual([
      [400, 'succeeded'],
      [600, 'succeeded'],
    ]);
    expect((await fixture.records(session)).map((record) => [record.amountCents, record.lines.length])).toEqual([
      [1_000, 2],
      [0, 0],
    ]);
    await fixture.booksAgree(session);
  });

  it('is shown beforehand as it would be divided, and nothing is captured by that [D14.100]', async () => {
    const session = await fixture.held();
    const [, other = ''] = await fixture.prices(session);
    const preview = (parts: CaptureParts) =>
      previewCapture(fixture.context, fixture.scope, session.id, orderOf(parts).instruction);
    expect((await preview({})).map((card) => [card.last4, card.amountCents])).toEqual([
      ['0072', 3_600],
      ['4242', 2_400],
    ]);
    expect(await preview({ entries: [{ priceId: other, amount: 2_400 }] })).toEqual([
      expect.objectContaining({ last4: '4242', amountCents: 2_400 }),
    ]);
    expect(await refusal(preview({ amount: 6_001 }))).toEqual([422, 'capture_amount_exceeds_authorized']);
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid', amountReceivedCents: 0, captureIds: [] });
    await fixture.capture(session);
    expect(await refusal(preview({}))).toEqual([400, 'checkout_session_already_processed']);
  });
});

describe('a capture is refused, with nothing written,', () => {
  it.each<[string, (prices: string[]) => CaptureParts, string]>([
    ['above the session', () => ({ amount: 6_001 }), 'capture_amount_exceeds_authorized'],
    [
      'above a line',
      ([health = '']) => ({ entries: [{ priceId: health, amount: 3_601 }] }),
      'capture_amount_exceeds_authorized',
    ],
    [
      'above a component',
      ([health = '']) => ({ entries: [{ priceId: health, amount: 100 }], tax: 1_001 }),
      'capture_amount_exceeds_authorized',
    ],
    ['of nothing', () => ({ amount: 0 }), 'capture_amount_invalid'],
    ['of another price', () => ({ entries: [{ priceId: newId('price'), amount: 1 }] }), 'validation_error'],
  ])('%s [SESS-6]', async (_, parts, code) => {
    const session = await fixture.held();
    const asked = parts(await fixture.prices(session));
    expect(await refusal(fixture.capture(session, { ...asked, key: 'refused' }))).toEqual([422, code]);
    // The key is free: the same one captures as soon as the request can be carried out.
    expect(await fixture.capture(session, { key: 'refused' })).toMatchObject({ status: 'complete' });
    expect(await fixture.records(session)).toHaveLength(1);
  });

  it('of a session that is open, canceled, complete or not there, or that waits for a letter [SESS-6, D14.100]', async () => {
    const open = await fixture.session({ captureMethod: 'manual' });
    expect(await refusal(fixture.capture(open))).toEqual([409, 'checkout_session_not_capturable']);
    const ended = await fixture.held();
    await cancelSession(fixture.context, fixture.scope, ended.id);
    expect(await refusal(fixture.capture(ended))).toEqual([400, 'checkout_session_canceled']);
    const complete = await fixture.held();
    await fixture.capture(complete);
    expect(await refusal(fixture.capture(complete))).toEqual([400, 'checkout_session_already_processed']);
    const gone = { ...open, id: newId('checkout_session') };
    expect(await refusal(fixture.capture(gone))).toEqual([404, 'checkout_session_not_found']);
    const hsa = await fixture.card('hsa');
    const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })];
    const waiting = await fixture.session({ lines, customerId: hsa.customerId });
    await fixture.confirm(waiting, hsa);
    expect(await refusal(fixture.capture(waiting))).toEqual([409, 'checkout_session_not_capturable']);
    await fixture.booksAgree(waiting);
  });

  it('of a shop that captures by itself while a letter is in review, and is carried out once it is approved [D14.76, D14.100]', async () => {
    const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })];
    const session = await fixture.held({ parts: { lines } });
    expect(await refusal(fixture.capture(session, { key: 'early' }))).toEqual([409, 'checkout_session_not_capturable']);
    const [letter] = await fixture.test.admin<{ id: string }>('select id from checkout.letters where session_id = $1', [
      session.id,
    ]);
    await decideLetter(fixture.context, fixture.scope, letter?.id ?? '', 'approved');
    expect(await fixture.capture(session, { key: 'early' })).toMatchObject({
      ...{ status: 'complete', amountReceivedCents: 6_000n },
    });
    await fixture.booksAgree(session);
  });

  it('of a part, where the card is captured once: before a row is written; the last part is taken [D14.102]', async () => {
    const session = await fixture.held({ other: 'single_capture' });
    const rows = 'select count(*)::integer as count from checkout.captures where session_id = $1';
    expect(await refusal(fixture.capture(session, { amount: 1_000, key: 'part' }))).toEqual([
      422,
      'multiple_captures_not_supported',
    ]);
    const partial = orderOf({ amount: 1_000 }).instruction;
    const preview = previewCapture(fixture.context, fixture.scope, session.id, partial);
    expect(await refusal(preview)).toEqual([422, 'multiple_captures_not_supported']);
    expect(await fixture.test.admin(rows, [session.id])).toEqual([{ count: 0 }]);
    // The health card's whole part ends its hold, so no card is captured twice.
    const [health = ''] = await fixture.prices(session);
    await fixture.capture(session, { entries: [{ priceId: health, amount: whole.health }], key: 'part' });
    const last = await fixture.capture(session, { amount: 1_000, isFinal: true });
    expect(last).toMatchObject({ status: 'complete', amountReceivedCents: 4_600n });
    await fixture.sweepAll();
    await fixture.booksAgree(session);
  });

  it.each(['drop_before', 'error_before', 'rate_limited'])(
    'while the processor does not tell whether a card can be captured again: %s [D14.102]',
    async (kind) => {
      const session = await fixture.heldOnOneCard();
      const part = { amount: 1_000, key: 'part' };
      await fixture.fault({ call: 'charges.retrieve', kind, times: 1 });
      const preview = previewCapture(fixture.context, fixture.scope, session.id, orderOf(part).instruction);
      expect(await refusal(preview)).toEqual([503, 'lock_timeout']);
      await fixture.fault({ call: 'charges.retrieve', kind, times: 1 });
      expect(await refusal(fixture.capture(session, part))).toEqual([503, 'lock_timeout']);
      expect(await fixture.capture(session, part)).toMatchObject({ status: 'paid', amountReceivedCents: 1_000n });
      await fixture.booksAgree(session);
    },
  );
});

describe('the key of a capture', () => {
  it('gives the same answer again, byte for byte, and refuses another request [D1.1, D14.103]', async () => {
    const session = await fixture.held();
    const part = { amount: 1_000, key: 'one' };
    const answer = await fixture.capture(session, part);
    await fixture.capture(session, { key: 'two' });
    expect(await fixture.capture(session, part)).toEqual(answer);
    expect(await refusal(fixture.capture(session, { amount: 1_001, key: 'one' }))).toEqual([
      409,
      'idempotency_key_reused',
    ]);
    await fixture.booksAgree(session);
  });

  it('captures once when it is sent eight times at once, and so do eight keys for the whole [D14.103]', async () => {
    for (const keys of [Array<string>(8).fill('same'), Array.from({ length: 8 }, (_, index) => `key ${index}`)]) {
      const session = await fixture.held();
      const answers = await Promise.all(keys.map((key) => refusal(fixture.capture(session, { key }))));
      const refused = answers.filter((answer) => answer !== undefined).map(([, code]) => code);
      const passing = ['idempotency_key_in_use', 'lock_timeout', 'checkout_session_already_processed'];
      expect(refused.filter((code) => !passing.includes(code as string))).toEqual([]);
      await fixture.sweepAll();
      expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000 });
      await fixture.booksAgree(session);
    }
  });

  it('is in use while its capture is unsettled, and any other capture or an end of the session waits [D14.103]', async () => {
    const session = await fixture.held();
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_before', times: 1 });
    expect(await refusal(fixture.capture(session, { key: 'lost' }))).toEqual([503, 'idempotency_key_in_use']);
    expect(await refusal(fixture.capture(session, { key: 'other' }))).toEqual([503, 'lock_timeout']);
    expect(await refusal(fixture.capture(session))).toEqual([503, 'lock_timeout']);
    expect(await refusal(cancelSession(fixture.context, fixture.scope, session.id))).toEqual([503, 'lock_timeout']);
    await fixture.sweepAll();
    expect(await fixture.capture(session, { key: 'lost' })).toMatchObject({ status: 'complete' });
    expect(await refusal(fixture.capture(session, { key: 'other' }))).toEqual([
      400,
      'checkout_session_already_processed',
    ]);
    await fixture.booksAgree(session);
  });
});

describe('a hold that is gone at its capture', () => {
  it('cancels a session of which nothing was captured, and the key says so ever after [D14.29, D14.104]', async () => {
    const session = await fixture.held();
    await fixture.cancelAtProcessor(session, 'other');
    for (let count = 0; count < 2; count++) {
      expect(await refusal(fixture.capture(session, { key: 'gone' }))).toEqual([
        409,
        'checkout_session_not_capturable',
      ]);
    }
    await fixture.sweepAll();
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', captureIds: [] });
    expect(await fixture.told(session)).toMatchObject({ 'command.refund': 1, 'checkout.session.expired': 1 });
  });

  it('keeps what was captured before, and completes the session when nothing else is held [D14.104]', async () => {
    const session = await fixture.heldOnOneCard();
    await fixture.capture(session, { amount: 1_500 });
    const [attempt] = await fixture.test.admin<{ processor_intent_id: string }>(
      'select processor_intent_id from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    const processor = fixture.context.processors.of(fixture.scope);
    const nothing = { amountCents: cents(0), finalCapture: true };
    await processor.captureIntent(attempt?.processor_intent_id ?? '', nothing, { idempotencyKey: newId('capture') });
    expect(await refusal(fixture.capture(session, { amount: 500, key: 'late' }))).toEqual([
      409,
      'checkout_session_not_capturable',
    ]);
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 1_500 });
    await fixture.booksAgree(session);
  });

  it('takes what the other card has, where one of two is gone after a first capture [D14.104]', async () => {
    const session = await fixture.held();
    const [health = ''] = await fixture.prices(session);
    await fixture.capture(session, { entries: [{ priceId: health, amount: 600 }] });
    await fixture.cancelAtProcessor(session, 'other');
    expect(await fixture.capture(session)).toMatchObject({ status: 'complete', amountReceivedCents: 3_600n });
    expect((await fixture.records(session)).map(({ amountCents }) => amountCents)).toEqual([600, 3_000]);
    await fixture.booksAgree(session);
  });

  it('stays held when the processor refuses a part of it, and can be captured whole [D14.104]', async () => {
    const session = await fixture.heldOnOneCard('single_capture');
    // The look-up was wrong.
    const believing = fixture.contextWith((port) => ({
      retrieveCharge: async (id, call) => {
        const found = await port.retrieveCharge(id, call);
        return found.kind === 'found' ? { ...found, allowsSeveralCaptures: true } : found;
      },
    }));
    const part = { amount: 1_000, key: 'part' };
    expect(await refusal(fixture.capture(session, part, believing))).toEqual([409, 'checkout_session_not_capturable']);
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid', amountReceivedCents: 0, captureIds: [] });
    expect(await refusal(fixture.capture(session, part))).toEqual([409, 'checkout_session_not_capturable']);
    expect(await fixture.capture(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000n });
    await fixture.booksAgree(session);
  });
});

describe('the deprecated capture of a payment intent', () => {
  const captureIntent = (id: string, parts: CaptureParts = {}) =>
    capturePaymentIntent(fixture.context, fixture.scope, id, orderOf({ ...parts, isFinal: true }));

  it('takes one card, voids the rest of its hold, and leaves the other card to be captured [VER-2, API-7]', async () => {
    const session = await fixture.held();
    const [health = '', other = ''] = session.paymentIntentIds;
    const answer = await captureIntent(health, { amount: 1_000, key: 'one' });
    expect(answer).toMatchObject({ status: 'succeeded', amountReceivedCents: 1_000n, amountCapturableCents: 0n });
    expect(await captureIntent(health, { amount: 1_000, key: 'one' })).toEqual(answer);
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid', amountReceivedCents: 1_000 });
    expect(await refusal(captureIntent(health, { key: 'one' }))).toEqual([409, 'checkout_session_not_capturable']);
    expect(await captureIntent(other)).toMatchObject({ amountReceivedCents: BigInt(whole.other) });
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 3_400 });
    expect((await fixture.atProcessor(session)).map(([, taken]) => taken)).toEqual([2_400, 1_000]);
    await fixture.booksAgree(session);
    expect(await refusal(captureIntent(newId('payment_intent')))).toEqual([404, 'payment_intent_not_found']);
  });
});
