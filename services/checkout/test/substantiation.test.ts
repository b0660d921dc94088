import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readSubstantiation } from '../src/actions/read-substantiation.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());

const read = (session: Session) => readSubstantiation(fixture.database, fixture.scope, session.id);
const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0);

async function refund(session: Session, amount?: number): Promise<string> {
  const refundId = newId('refund');
  const instruction = { entries: [], methods: [], ...(amount === undefined ? {} : { amount: cents(amount) }) };
  const request = { refundId, sessionId: session.id, paymentIntentId: null, features: [], preview: false };
  await reserveRefund(fixture.context, fixture.scope, { ...request, instruction });
  return refundId;
}

// What an auditor adds up: of each line, of each card, and of the session.
async function tiesOut(session: Session): Promise<void> {
  const proof = await read(session);
  for (const { line: one, captures, refunds } of proof.lines) {
    expect(sum(captures.map(({ amountCents }) => amountCents))).toBe(one.amountCapturedCents);
    expect(sum(refunds.map(({ amountCents }) => amountCents))).toBe(one.amountRefundedCents);
  }
  for (const { charge } of proof.payments) {
    const ofCard = ({ paymentIntentId }: { paymentIntentId: string }) => paymentIntentId === charge.paymentIntentId;
    const captures = proof.lines.flatMap((one) => one.captures).filter(ofCard);
    const refunds = proof.lines.flatMap((one) => one.refunds).filter(ofCard);
    expect(sum(captures.map(({ amountCents }) => amountCents))).toBe(charge.amountCapturedCents);
    expect(sum(refunds.map(({ amountCents }) => amountCents))).toBe(charge.amountRefundedCents);
  }
  expect(sum(proof.lines.map((one) => one.line.amountCapturedCents))).toBe(proof.session.amountReceivedCents);
  expect(sum(proof.lines.map((one) => one.line.amountRefundedCents))).toBe(proof.session.amountRefundedCents);
}

it('shows what each card paid of each line and got back, with class, rule, version and times, and adds up [D14.128]', async () => {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.session({
    lines: [
      line({ unitAmount: 4_000, class: 'vision', rule: 'product_code_list', ruleVersion: '2026-01' }),
      line({ unitAmount: 2_000 }),
    ],
    taxAmountCents: 333n,
  });
  await letters.pay(session, [hsa, credit]);
  const refundId = await refund(session, 700);
  await tiesOut(session);
  const { record, lines, payments, hasMoreRefunds } = await read(session);
  expect(record?.createdAt).toEqual(session.createdAt);
  expect(hasMoreRefunds).toBe(false);
  expect(lines[0]).toMatchObject({
    line: { eligibilityClass: 'vision', eligibilityRule: 'product_code_list', eligibilityRuleVersion: '2026-01' },
    letter: undefined,
    // The health card was held first, and captured once the other card had paid.
    captures: [{ sourceId: expect.stringMatching(/^fcap_/), at: expect.any(Date) }],
    refunds: [{ sourceId: refundId, amountCents: expect.any(Number), at: expect.any(Date) }],
  });
  expect(lines[1]).toMatchObject({ captures: [{ sourceId: expect.stringMatching(/^fch_/) }] });
  expect(payments.map(({ leg, method }) => [leg, method?.card.hsaFsa])).toEqual(
    expect.arrayContaining([
      ['health', true],
      ['other', false],
    ]),
  );
});

it('leaves out what a card did not take back, and ties out after each of several refunds [D14.128]', async () => {
  const card = await fixture.card('hsa');
  const session = await fixture.session({
    lines: [line({ unitAmount: 3_000, class: 'auto_substantiation', quantity: 3 })],
  });
  await letters.pay(session, [card]);
  const first = await refund(session, 1_000);
  const kept = await refund(session, 1);
  await releaseRefund(fixture.context, fixture.scope, first, []);
  await tiesOut(session);
  expect((await read(session)).lines[0]?.refunds.map(({ sourceId }) => sourceId)).toEqual([kept]);
  await refund(session);
  await tiesOut(session);
});

it('names the letter that a line needed, also one that the customer had before [D14.128]', async () => {
  const product = newId('product');
  const held = await letters.held([letterLine(3_000, product)]);
  const reviewed = await letters.onlyLetter(held);
  expect((await read(held)).lines[0]?.letter).toMatchObject({ id: reviewed.id, status: 'in_review' });
  expect((await read(held)).lines[0]?.captures).toEqual([]);
  await letters.decide(reviewed, 'approved');
  const later = await fixture.session({ customerId: held.customerId ?? '', lines: [letterLine(5_000, product)] });
  expect((await read(later)).lines[0]?.letter).toMatchObject({ id: reviewed.id, status: 'approved' });
});

it('is of one’s own sessions alone, and of one that nothing was paid for says so [D14.128]', async () => {
  const session = await fixture.session();
  expect(await read(session)).toMatchObject({ payments: [], lines: [{ captures: [], refunds: [] }] });
  const unknown = readSubstantiation(fixture.database, fixture.scope, newId('checkout_session'));
  await expect(unknown).rejects.toMatchObject({ code: 'checkout_session_not_found' });
});
