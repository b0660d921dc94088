import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeAtOnce } from '../src/actions/charge-at-once.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { importIssuerRanges } from '../src/actions/import-issuer-ranges.ts';
import { updatePaymentMethod } from '../src/actions/update-payment-method.ts';
import { type CardSlot, cardSlots, kindSources } from '../src/domain/card-kind.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const pay = (session: Session, cards: readonly PaymentMethod[], slots: readonly (CardSlot | undefined)[] = []) =>
  completeSession(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), slots, shippingDetails: null },
  });

const stored = async ({ id }: PaymentMethod) => {
  const method = await findPaymentMethod(fixture.database, fixture.scope, id);
  return [method?.card.hsaFsa, method?.card.hsaFsaSource];
};

const state = (method: PaymentMethod, hsaFsa: boolean) =>
  updatePaymentMethod(fixture.context, fixture.scope, method.id, { hsaFsa });

describe('whether a card is a health card', () => {
  it('is what the processor says, with its word as the source [D14.8]', async () => {
    expect(await stored(await fixture.card('hsa'))).toEqual([true, 'processor']);
    expect(await stored(await fixture.card('credit'))).toEqual([false, 'processor']);
    expect(await stored(await fixture.card('undescribed'))).toEqual([null, null]);
  });

  it('is read as the processor’s word where a release before this one stored no source', async () => {
    const card = await fixture.card('hsa');
    await fixture.test.admin('update checkout.payment_methods set hsa_fsa_source = null where id = $1', [card.id]);
    expect(await stored(card)).toEqual([true, 'processor']);
  });

  it('is what the operator’s list of issuer ranges says, where the processor says nothing [D14.71]', async () => {
    await importIssuerRanges(fixture.database, 'first,last,hsa_fsa\n40000599,400006,true\n400051,40005122,false\n');
    try {
      expect(await stored(await fixture.card('undescribed'))).toEqual([true, 'issuer_range']);
      // The processor's word goes before the list.
      expect(await stored(await fixture.card('hsa'))).toEqual([true, 'processor']);
      // A range that does not hold every card of the issuer number says nothing of it.
      await importIssuerRanges(fixture.database, 'first,last,hsa_fsa\n40000600,40000650,true\n');
      expect(await stored(await fixture.card('undescribed'))).toEqual([null, null]);
    } finally {
      await fixture.test.admin('delete from checkout.issuer_ranges');
    }
  });

  it.each([
    ['another header', 'range,hsa_fsa\n400006,true', /Line 1 must be/],
    ['no range', 'first,last,hsa_fsa\n', /has no ranges/],
    ['five digits', 'first,last,hsa_fsa\n40000,,true', /Line 2: first and last must have 6 to 8 digits/],
    ['another word', 'first,last,hsa_fsa\n400006,,yes', /Line 2: the third and last column must be true or false/],
    ['an end before its start', 'first,last,hsa_fsa\n400006,400005,true', /Line 2: last must not be below first/],
    ['an overlap', 'first,last,hsa_fsa\n400006,,true\n\n40000610,,false', /Lines 2 and 4 overlap/],
  ])('a list with %s is refused and changes nothing [D14.71]', async (_, text, message) => {
    await importIssuerRanges(fixture.database, 'first,last,hsa_fsa\n499999,,true');
    await expect(importIssuerRanges(fixture.database, text)).rejects.toThrow(message);
    expect(await fixture.test.admin('select digits::text from checkout.issuer_ranges')).toEqual([
      { digits: '[49999900,50000000)' },
    ]);
    await fixture.test.admin('delete from checkout.issuer_ranges');
  });

  it('is what the partner states, until the processor or the list says otherwise [D14.71]', async () => {
    const [card, hsa] = await Promise.all([fixture.card('undescribed'), fixture.card('hsa')]);
    expect((await state(card, true)).card).toMatchObject({ hsaFsa: true, hsaFsaSource: 'partner' });
    await state(card, false);
    expect(await stored(card)).toEqual([false, 'partner']);
    await expect(state(hsa, false)).rejects.toMatchObject({ code: 'conflict' });
    await state(hsa, true);
    expect(await stored(hsa)).toEqual([true, 'processor']);
  });

  it('is what the shopper says by the slot where nothing else is known; the partner may correct it [D14.71]', async () => {
    const [first, second, third] = await Promise.all(
      ['undescribed', 'undescribed', 'undescribed'].map((name) => fixture.card(name)),
    );
    if (!first || !second || !third) throw new Error('three cards');
    await pay(await fixture.mixedSession(first), [first, second], ['health', 'other']);
    expect([await stored(first), await stored(second)]).toEqual([
      [true, 'shopper'],
      [false, 'shopper'],
    ]);
    await state(first, false);
    expect(await stored(first)).toEqual([false, 'partner']);
    await pay(await fixture.mixedSession(first), [first], ['health']);
    expect(await stored(first)).toEqual([false, 'partner']);
    const setUp = await fixture.session({ mode: 'setup', lines: [], customerId: third.customerId });
    await pay(setUp, [third], ['health']);
    expect(await stored(third)).toEqual([true, 'shopper']);
  });
});

describe('a card of which nothing is known', () => {
  const held = async (session: Session) =>
    (await fixture.charges(session)).map(({ amount, amount_captured }) => [amount, amount_captured]);

  it('alone on a mixed cart holds the eligible part, and pays the rest once the shopper says that it is no health card [D14.70]', async () => {
    const card = await fixture.card('undescribed');
    const session = await fixture.mixedSession(card);
    expect((await pay(session, [card])).nextAction).toMatchObject({
      type: 'provide_second_payment_method',
      eligibleAmountCents: 4_000,
      ineligibleAmountCents: 6_000,
    });
    expect(await held(session)).toEqual([[4_000, 0]]);
    // Asked again without an answer, nothing more is charged; nor when the answer is that it is a health card.
    expect((await pay(session, [card])).status).toBe('open');
    expect(await held(session)).toEqual([[4_000, 0]]);
    expect(await pay(session, [card], ['other'])).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect((await held(session)).toSorted()).toEqual([
      [4_000, 4_000],
      [6_000, 6_000],
    ]);
  });

  it('charged off-session at creation holds the eligible part alone, and pays everything once the partner has stated its kind before [D14.70]', async () => {
    const card = await fixture.card('undescribed');
    const parts = { mode: 'off_session', paymentMethodId: card.id } as const;
    const unsaid = await fixture.mixedSession(card, parts);
    expect(await chargeAtOnce(fixture.context, fixture.scope, unsaid, false)).toMatchObject({ status: 'open' });
    expect(await held(unsaid)).toEqual([[4_000, 0]]);
    await state(card, false);
    const said = await fixture.mixedSession(card, parts);
    expect(await chargeAtOnce(fixture.context, fixture.scope, said, false)).toMatchObject({ status: 'complete' });
    expect(await held(said)).toEqual([[10_000, 10_000]]);
  });

  it('is charged the eligible part by a confirm, which names the card that pays it [CONF-2]', async () => {
    const card = await fixture.card('undescribed');
    const session = await fixture.mixedSession(card);
    await fixture.confirm(session, card);
    expect(await held(session)).toEqual([[4_000, 4_000]]);
  });

  it('is not charged for the rest after the partner has stated that it is a health card, which the session then says [D14.374]', async () => {
    const [hsa, card] = await Promise.all([fixture.card('hsa'), fixture.card('undescribed')]);
    const session = await fixture.mixedSession(hsa);
    await pay(session, [hsa]);
    const [before] = await fixture.test.admin<{ id: string }>(
      'select id from checkout.payment_plans where session_id = $1',
      [session.id],
    );
    await state(card, true);
    // As a process would that read the card before the statement.
    await fixture.test.admin(
      "update checkout.payment_plans set state = 'running', other_payment_method_id = $2, lease_until = now() where id = $1",
      [before?.id, card.id],
    );
    for (let round = 0; round < 4; round++) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
    expect(await held(session)).toEqual([[4_000, 0]]);
    const [plan] = await fixture.test.admin<{ state: string }>(
      'select state from checkout.payment_plans where id = $1',
      [before?.id],
    );
    expect(plan?.state).toBe('failed');
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.nextAction).toMatchObject({
      type: 'payment_failed',
      errorCode: 'other_payment_method_required',
      message: expect.stringContaining('No card was charged. Use another card.'),
    });
  });
});

describe('an account that takes no health cards in live mode', () => {
  const payRefused = (session: Session, ...cards: PaymentMethod[]) =>
    completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
      refusesHealthCards: true,
    });

  it('has the page go on with the other card, which pays everything and needs no letter [D14.72]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const lines = [line({ unitAmount: 4_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 6_000 })];
    const session = await fixture.session({ lines, customerId: hsa.customerId });
    expect((await payRefused(session, hsa)).nextAction).toMatchObject({
      type: 'provide_alternative_payment_method',
      message: 'This shop does not take HSA and FSA cards. Use another card.',
    });
    expect(await fixture.charges(session)).toEqual([]);
    expect(await payRefused(session, hsa, credit)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await fixture.charges(session)).toMatchObject([{ amount: 10_000, amount_captured: 10_000 }]);
  });

  it('422 health_cards_not_enabled after the off-session check and before the minimum, with no row written [STATE-2, D14.72]', async () => {
    const [card, present] = await Promise.all([fixture.card('hsa'), fixture.card('hsa', { offSession: false })]);
    const [session, small] = [
      await fixture.mixedSession(card),
      await fixture.session({ lines: [line({ unitAmount: 600 })], customerId: card.customerId }),
    ];
    const options = { key: 'not enabled', refusesHealthCards: true };
    const own = await fixture.mixedSession(present);
    await expect(fixture.confirm(own, present, options)).rejects.toMatchObject({
      code: 'payment_method_not_off_session',
    });
    await expect(fixture.confirm(small, card, options)).rejects.toMatchObject({ code: 'health_cards_not_enabled' });
    await expect(
      Promise.all([
        fixture.confirm(session, card, options),
        fixture.confirm(session, card, { ...options, key: 'another' }),
      ]),
    ).rejects.toMatchObject({ code: 'health_cards_not_enabled' });
    const written = await fixture.test.admin(
      `select id from checkout.payment_intents where session_id = any($1)
       union all select key from checkout.idempotency_keys where endpoint like '%' || $2 || '%'`,
      [[session.id, small.id], session.id],
    );
    expect(written).toEqual([]);
    // The same key charges once the operator has enabled them.
    expect((await fixture.confirm(session, card, { key: 'not enabled' })).session?.status).toBe('complete');
  });
});

describe('what the processor is told of health care', () => {
  const told = async (session: Session) =>
    (await fixture.charges(session)).map(({ metadata }) =>
      Object.fromEntries(Object.entries(metadata).filter(([name]) => name.startsWith('healthcare_'))),
    );
  const lines = [
    line({ unitAmount: 1_000, class: 'auto_substantiation' }),
    line({ unitAmount: 700, class: 'prescription' }),
    line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }),
    line({ unitAmount: 6_000 }),
  ];
  const medical = { healthcare_total: '4700', healthcare_iias: '1000', healthcare_prescription: '700' };

  it('is composed by the card that is charged: what needs a letter is medical and not IIAS, an ordinary card is told nothing [D4.7, D14.73]', async () => {
    const [hsa, credit, unknown] = await Promise.all(
      ['hsa', 'credit', 'undescribed'].map((name) => fixture.card(name)),
    );
    if (!hsa || !credit || !unknown) throw new Error('three cards');
    for (const [card, expected] of [
      [hsa, medical],
      [unknown, medical],
      [credit, {}],
    ] as const) {
      const session = await fixture.session({ lines, customerId: card.customerId });
      await fixture.confirm(session, card);
      expect(await told(session)).toEqual([expected]);
    }
    const paged = await fixture.session({ lines, customerId: hsa.customerId });
    await pay(paged, [hsa, credit]);
    expect((await told(paged)).toSorted((a, b) => Object.keys(a).length - Object.keys(b).length)).toEqual([
      {},
      medical,
    ]);
  });

  it('stays what it was when a card is found out to be another between two sends [D14.73]', async () => {
    const card = await fixture.card('undescribed');
    const session = await fixture.session({ lines, customerId: card.customerId });
    await fixture.fault({ call: 'payment_intents.create', kind: 'drop_after', times: 1 });
    const options = { key: 'found out' };
    await expect(fixture.confirm(session, card, options)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    await state(card, false);
    await fixture.lapseLeases();
    expect((await fixture.confirm(session, card, options)).session?.status).toBe('paid');
    const attempts = 'select card_kind, status from checkout.charge_attempts where subject_id = $1';
    expect(await fixture.test.admin(attempts, [session.id])).toEqual([{ card_kind: 'unknown', status: 'succeeded' }]);
    expect(await told(session)).toEqual([medical]);
  });
});

describe('ineligible items', () => {
  const kind = fc.oneof(
    fc.constant({ hsaFsa: null, source: null }),
    fc.record({ hsaFsa: fc.boolean(), source: fc.constantFrom(...kindSources) }),
  );
  const given = fc.record({ kind, slot: fc.constantFrom(undefined, ...cardSlots) });
  const payment = fc.record({
    cards: fc.array(given, { minLength: 1, maxLength: 2 }),
    eligibleCents: fc.constantFrom(0, 49, 4_000),
    ineligibleCents: fc.constantFrom(0, 30, 6_000),
    letter: fc.boolean(),
    captureMethod: fc.constantFrom('automatic', 'manual'),
    mode: fc.constantFrom('payment', 'off_session'),
  });

  it('are charged only to a card that is no health card by its slot and its source, for any cards and any cart [D6.3, D14.70]', async () => {
    const pool = await Promise.all([fixture.card('undescribed'), fixture.card('undescribed')]);
    await fc.assert(
      fc.asyncProperty(payment, async ({ cards, eligibleCents, ineligibleCents, letter, captureMethod, mode }) => {
        fc.pre(eligibleCents + ineligibleCents >= 50);
        const used = pool.slice(0, cards.length);
        for (const [index, card] of used.entries()) {
          await fixture.test.admin(
            'update checkout.payment_methods set hsa_fsa = $2, hsa_fsa_source = $3 where id = $1',
            [card.id, cards[index]?.kind.hsaFsa ?? null, cards[index]?.kind.source ?? null],
          );
        }
        const eligibleClass = letter ? 'letter_of_medical_necessity' : 'auto_substantiation';
        const session = await fixture.session({
          lines: [
            ...(eligibleCents > 0 ? [line({ unitAmount: eligibleCents, class: eligibleClass })] : []),
            ...(ineligibleCents > 0 ? [line({ unitAmount: ineligibleCents })] : []),
          ],
          ...{ captureMethod, mode, customerId: pool[0]?.customerId ?? '' },
        });
        const slots = cards.map(({ slot }) => slot);
        const after = await pay(session, used, slots).catch((error: { code?: string }) => error.code);
        // Said here in words of its own: by no source and no slot a health card, and by one of them another card.
        const isOther = new Map(
          used.map(({ id }, index) => {
            const said = [cards[index]?.kind.hsaFsa, slots[index] && slots[index] === 'health'];
            return [id, !said.includes(true) && said.includes(false)];
          }),
        );
        const charged = await fixture.test.admin<{
          payment_method_id: string;
          amount_cents: string;
          leg: string;
          capture_method: string;
        }>(
          "select payment_method_id, amount_cents, leg, capture_method from checkout.charge_attempts where subject_id = $1 and status = 'succeeded'",
          [session.id],
        );
        for (const { payment_method_id: id, amount_cents, leg, capture_method } of charged) {
          if (isOther.get(id) && leg === 'other') continue;
          expect(leg).toBe('health');
          expect(Number(amount_cents)).toBe(eligibleCents);
          // A letter's line on what may be a health card waits for the letter.
          if (letter) expect(capture_method).toBe('manual');
        }
        const all = charged.reduce((sum, { amount_cents }) => sum + Number(amount_cents), 0);
        const mayPayAll = [...isOther.values()].includes(true) || (ineligibleCents === 0 && eligibleCents >= 50);
        const hasTwoParts = eligibleCents >= 50 && ineligibleCents >= 50;
        // One of two such cards holds nothing, since the other one cannot pay the rest.
        const heldCents = hasTwoParts && used.length === 1 ? eligibleCents : 0;
        expect(all).toBe(mayPayAll ? eligibleCents + ineligibleCents : heldCents);
        if (mayPayAll) expect(after).toHaveProperty('status');
        else if (hasTwoParts && used.length === 2) expect(after).toBe('other_payment_method_required');
        else expect(after).toMatchObject({ status: 'open', amountReceivedCents: 0 });
        // The processor has charged what the attempts say.
        expect((await fixture.charges(session)).reduce((sum, { amount }) => sum + amount, 0)).toBe(all);
      }),
      { numRuns: 50 },
    );
  }, 120_000);

  it.each([
    ['a health card', true, 'session'],
    ['a card of which that is not known', null, 'session'],
    ['a health card for an invoice', true, 'invoice'],
    ['a card of which that is not known for an invoice', null, 'invoice'],
  ])('are not charged to %s: the table alone refuses the attempt [D14.70]', async (_, hsaFsa, purpose) => {
    const card = await fixture.card('credit');
    const session = await pay(await fixture.mixedSession(card), [card]);
    await fixture.test.admin('update checkout.payment_methods set hsa_fsa = $2, hsa_fsa_source = null where id = $1', [
      card.id,
      hsaFsa,
    ]);
    const bypass = `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id,
        payment_method_id, processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, acting_at)
      select account_id, test_mode, $2, $3, $2, leg, driver, payment_intent_id, payment_method_id, processor_payment_method_id, off_session,
        capture_method, amount_cents, 'created', now(), acting_at
      from checkout.charge_attempts where subject_id = $1 and leg = 'other'`;
    await expect(fixture.test.admin(bypass, [session.id, `fatt_${purpose}_${hsaFsa}`, purpose])).rejects.toMatchObject({
      constraint: 'ineligible_only_on_other_cards',
    });
  });

  it('the tables refuse a source without a kind, and ranges that overlap', async () => {
    const card = await fixture.card('undescribed');
    const update = (text: string) =>
      fixture.test.admin(`update checkout.payment_methods set ${text} where id = $1`, [card.id]);
    await expect(update("hsa_fsa_source = 'shopper'")).rejects.toMatchObject({
      constraint: 'payment_methods_source_of_a_kind',
    });
    await expect(update("hsa_fsa = true, hsa_fsa_source = 'guess'")).rejects.toMatchObject({
      constraint: 'payment_methods_hsa_fsa_source',
    });
    const ranges =
      "insert into checkout.issuer_ranges values ('[40000000,40000010)', true), ('[40000009,40000020)', false)";
    await expect(fixture.test.admin(ranges)).rejects.toMatchObject({ constraint: 'issuer_ranges_do_not_overlap' });
    await expect(
      fixture.test.admin("insert into checkout.issuer_ranges values ('[1,100000001)', true)"),
    ).rejects.toMatchObject({
      constraint: 'issuer_ranges_are_whole',
    });
  });
});
