import { withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { captureSession } from '../src/actions/capture-session.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { type Letter, validityEnd } from '../src/domain/letter.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { findValidLetters } from '../src/store/letters.ts';
import { mirrorTestClock } from '../src/store/test-clocks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { callIn, line, sessionMessage, start } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
afterEach(() => fixture.clock.set(start));

// A customer with an approved letter for a product.
async function approved(): Promise<{ customerId: string; product: string; letter: Letter }> {
  const product = newId('product');
  const session = await letters.held([letterLine(3_000, product)]);
  const letter = await letters.decide(await letters.onlyLetter(session), 'approved');
  return { customerId: session.customerId ?? '', product, letter };
}

const minute = 60_000;
const sessionOf = (customerId: string, lines: ReturnType<typeof line>[]) => fixture.session({ customerId, lines });
const reliedOn = async ({ id }: Session) =>
  (
    await fixture.test.admin<{ letter_id: string }>(
      'select letter_id from checkout.session_existing_letters where session_id = $1',
      [id],
    )
  ).map((row) => row.letter_id);

describe('a valid letter', () => {
  it('makes the next session of its customer and product need none, with the fee waived [D14.78]', async () => {
    const { customerId, product, letter } = await approved();
    const session = await sessionOf(customerId, [letterLine(5_000, product), line({ unitAmount: 2_000 })]);
    expect(session).toMatchObject({
      ...{ letterRequired: false, letterFeeStatus: 'waived', amountEligibleCents: 5_000, amountFeeCents: 0 },
      fees: [{ feeType: 'lmn_consultation', applied: false, waivedReason: 'existing_letter' }],
    });
    expect(await letters.reload(session)).toEqual(session);
    expect(await reliedOn(session)).toEqual([letter.id]);
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    expect(await letters.pay(session, [hsa, credit])).toMatchObject({ status: 'complete', amountReceivedCents: 7_000 });
    expect(await letters.lettersOf(session)).toEqual([]);
  });

  it('lets a confirm charge, and not only hold [D14.78]', async () => {
    const { customerId, product } = await approved();
    const card = await fixture.card('hsa', { customerId });
    const session = await sessionOf(customerId, [letterLine(5_000, product)]);
    await fixture.confirm(session, card);
    expect(await letters.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 5_000 });
  });

  it('serves no other product and no other customer, and no session without one [D14.78]', async () => {
    const { customerId, product } = await approved();
    const other = await fixture.card('hsa');
    for (const session of [
      await sessionOf(customerId, [letterLine(5_000, product), letterLine(1_000)]),
      await sessionOf(other.customerId, [letterLine(5_000, product)]),
      await fixture.session({ lines: [letterLine(5_000, product)] }),
    ]) {
      expect(session).toMatchObject({ letterRequired: true, letterFeeStatus: 'pending', fees: [] });
    }
  });

  it('serves no time before it was approved, nor after it ends [D14.142, D14.331]', async () => {
    fixture.clock.set(start);
    const { customerId, product, letter } = await approved();
    const at = async (time: Date) =>
      (await findValidLetters(fixture.database, fixture.scope, customerId, [product], time)).get(product)?.id;
    const { decidedAt, validUntil } = letter as { decidedAt: Date; validUntil: Date };
    const before = (time: Date) => new Date(time.getTime() - 1);
    expect(await at(before(decidedAt))).toBeUndefined();
    expect([await at(decidedAt), await at(before(validUntil))]).toEqual([letter.id, letter.id]);
    expect(await at(validUntil)).toBeUndefined();
  });

  it('serves the time before another one was approved, and the one that ends last serves where both do [D14.331]', async () => {
    fixture.clock.set(start);
    const { customerId, product, letter } = await approved();
    const renewed = new Date(start.getTime() + 200 * 86_400_000);
    const session = await sessionOf(customerId, [line({ unitAmount: 2_000 })]);
    const renewal = newId('letter');
    await fixture.test.admin(
      `insert into checkout.letters (account_id, test_mode, id, session_id, product_id, customer_id, test_clock_id, status, url, review_until,
         created_at, decided_at, valid_until)
       select account_id, test_mode, $2, $3, product_id, customer_id, test_clock_id, status, url, review_until, created_at, $4, $5
       from checkout.letters where id = $1`,
      [letter.id, renewal, session.id, renewed, validityEnd(renewed)],
    );
    const at = async (time: Date) =>
      (await findValidLetters(fixture.database, fixture.scope, customerId, [product], time)).get(product)?.id;
    expect(await at(start)).toBe(letter.id);
    expect(await at(renewed)).toBe(renewal);
  });

  it('leaves only the other products of a session to be reviewed', async () => {
    const { customerId, product } = await approved();
    const hsa = await fixture.card('hsa');
    const fresh = newId('product');
    const session = await sessionOf(customerId, [letterLine(5_000, product), letterLine(1_000, fresh)]);
    await letters.pay(session, [hsa]);
    expect(await letters.onlyLetter(session)).toMatchObject({ productId: fresh });
    await letters.decide(await letters.onlyLetter(session), 'approved');
    expect(await letters.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000 });
  });

  it('serves for twelve months, by the customer’s clock [D14.78]', async () => {
    const clockId = newId('test_clock');
    const at = (time: Date) =>
      withTx(fixture.database, fixture.scope, (tx) => mirrorTestClock(tx, fixture.scope, clockId, time, null));
    await at(start);
    const nobody = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
    const { customerId } = await createCustomer(fixture.context, fixture.scope, {
      ...nobody,
      metadata: {},
      testClockId: clockId,
    });
    const card = await fixture.card('hsa', { customerId });
    const product = newId('product');
    const first = await sessionOf(customerId, [letterLine(3_000, product)]);
    await letters.pay(first, [card]);
    await letters.decide(await letters.onlyLetter(first), 'approved');
    const end = validityEnd(start);
    await at(new Date(end.getTime() - 30 * minute - 1));
    const last = await sessionOf(customerId, [letterLine(3_000, product)]);
    expect(last).toMatchObject({ letterRequired: false, expiresAt: end });
    await at(new Date(end.getTime() - 30 * minute));
    expect(await sessionOf(customerId, [letterLine(3_000, product)])).toMatchObject({ letterRequired: true });
    // One that is charged at its creation needs no time to pay.
    await at(new Date(end.getTime() - minute));
    expect(
      await fixture.session({
        ...{ customerId, lines: [letterLine(3_000, product)], mode: 'off_session', paymentMethodId: card.id },
      }),
    ).toMatchObject({ status: 'complete', letterRequired: false, expiresAt: end });
  });

  it('ends the sessions that rely on it, whatever they ask for, so that no card is charged after its end [D14.322]', async () => {
    const { customerId, product, letter } = await approved();
    const end = letter.validUntil ?? start;
    const before = (minutes: number) => new Date(end.getTime() - minutes * minute);
    fixture.clock.set(before(45));
    const lines = [letterLine(5_000, product), line({ unitAmount: 2_000 })];
    const week = BigInt(before(45).getTime() + 7 * 24 * 60 * minute);
    const [session, held, other] = [
      await fixture.session({ customerId, lines, expiresAtMs: week }),
      await fixture.session({ customerId, lines, captureMethod: 'manual' }),
      await fixture.session({ customerId, lines: [line({ unitAmount: 2_000 })] }),
    ];
    for (const relying of [session, held]) expect(await letters.reload(relying)).toMatchObject({ expiresAt: end });
    expect(other.expiresAt).toEqual(new Date(before(45).getTime() + 24 * 60 * minute));
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    fixture.clock.set(before(1));
    expect(await letters.pay(held, [hsa, credit])).toMatchObject({ status: 'paid' });
    fixture.clock.set(end);
    const expired = { code: 'checkout_session_expired' };
    await expect(letters.pay(session, [hsa, credit])).rejects.toMatchObject(expired);
    const own = await fixture.card('hsa', { customerId });
    await expect(fixture.confirm(session, own)).rejects.toMatchObject(expired);
    expect(await fixture.charges(session)).toEqual([]);
    // What was bought while the letter was valid is captured, as when the parcel leaves.
    const whole = { instruction: { entries: [], isFinal: false }, metadata: {} };
    const key = { key: 'after the letter', requestHash: Buffer.alloc(32) };
    await captureSession(fixture.context, fixture.scope, held.id, { ...whole, key });
    expect(await letters.reload(held)).toMatchObject({ status: 'complete', amountReceivedCents: 7_000 });
    expect(await fixture.session({ customerId, lines })).toMatchObject({ letterRequired: true });
  });

  it.each(['denied', 'expired'] as const)('is none that was %s', async (status) => {
    const product = newId('product');
    const session = await letters.held([letterLine(3_000, product)]);
    const letter = await letters.onlyLetter(session);
    await fixture.test.admin('update checkout.letters set status = $2, decided_at = created_at where id = $1', [
      letter.id,
      status,
    ]);
    const next = await sessionOf(session.customerId ?? '', [letterLine(3_000, product)]);
    expect(next.letterRequired).toBe(true);
  });

  it('is none of another account', async () => {
    const { product, letter } = await approved();
    const scope = { ...fixture.scope, accountId: newId('account') };
    const nobody = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
    const { customerId } = await createCustomer(fixture.context, scope, { ...nobody, metadata: {}, testClockId: null });
    // The identifier of its customer is the only thing that a foreign session could share.
    expect(customerId).not.toBe(letter.customerId);
    const request = sessionRequestOf(sessionMessage({ customerId, lines: [letterLine(3_000, product)] }));
    expect(await createSession(fixture.context, callIn(scope), request)).toMatchObject({ letterRequired: true });
  });
});

describe('the database refuses', () => {
  const relyOn = (sessionId: string, productId: string, letterId: string) =>
    fixture.test.admin(
      `insert into checkout.session_existing_letters (account_id, test_mode, session_id, product_id, letter_id)
       values ($1, true, $2, $3, $4)`,
      [fixture.scope.accountId, sessionId, productId, letterId],
    );

  test('a session that relies on a letter of another product or customer, or on one that is not approved [D14.78]', async () => {
    const { customerId, product, letter } = await approved();
    const own = await sessionOf(customerId, [letterLine(1_000)]);
    const foreign = await sessionOf((await fixture.card('hsa')).customerId, [letterLine(1_000, product)]);
    const waiting = await letters.held([letterLine(3_000)]);
    const inReview = await letters.onlyLetter(waiting);
    for (const [session, productId, letterId] of [
      [own, newId('product'), letter.id],
      [foreign, product, letter.id],
      [waiting, inReview.productId, inReview.id],
    ] as const) {
      await expect(relyOn(session.id, productId, letterId)).rejects.toMatchObject({
        constraint: 'existing_letter_is_valid',
      });
    }
  });

  test('no session of the release before this one, and ends it with the letter that it relies on [D14.322]', async () => {
    const { customerId, product, letter } = await approved();
    const end = letter.validUntil ?? start;
    fixture.clock.set(new Date(end.getTime() - 45 * minute));
    const session = await sessionOf(customerId, [letterLine(1_000)]);
    await relyOn(session.id, product, letter.id);
    expect(await letters.reload(session)).toMatchObject({ expiresAt: end });
  });

  test('a session with such a line that says it needs no letter [D14.78]', async () => {
    const session = await letters.held([letterLine(3_000)]);
    const copy = fixture.test.admin(
      `with copy as (
         insert into checkout.sessions
         select (jsonb_populate_record(s, jsonb_build_object('id', $2::text, 'letter_required', false, 'status', 'open'))).*
         from checkout.sessions s where s.id = $1
         returning id
       ), lines as (
         insert into checkout.session_lines
         select (jsonb_populate_record(l, jsonb_build_object('id', 'fli_copy', 'session_id', $2::text))).*
         from checkout.session_lines l where l.session_id = $1
       )
       insert into checkout.eligibility_records
       select (jsonb_populate_record(e, jsonb_build_object('id', 'felig_copy', 'session_id', $2::text, 'charged_attempt_id', null))).*
       from checkout.eligibility_records e where e.session_id = $1`,
      [session.id, newId('checkout_session')],
    );
    await expect(copy).rejects.toMatchObject({ constraint: 'session_has_its_letters' });
  });
});
