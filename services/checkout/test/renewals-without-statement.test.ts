import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addReviewer } from '../src/actions/add-reviewer.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { recordHealthCardStatement } from '../src/actions/record-health-card-statement.ts';
import { decideByReviewer } from '../src/actions/review-letter.ts';
import type { Session } from '../src/domain/session.ts';
import { expireLetters } from '../src/jobs/expire-letters.ts';
import { line } from './fixture.ts';
import { letterLine } from './letters-fixture.ts';
import { hour, openRenewalsFixture, type RenewalsFixture } from './renewals-fixture.ts';

let fixture: RenewalsFixture;
let credential: string;
let version = 0n;
beforeAll(async () => {
  fixture = await openRenewalsFixture({ testMode: false });
  const reviewer = { name: 'Grace Hopper', license: 'A-1906', state: 'NY' };
  ({ credential } = await addReviewer(fixture.database, reviewer));
});
afterAll(() => fixture.close());
beforeEach(async () => {
  // What one test leaves held is not due in the next one.
  await fixture.test.admin(
    "update checkout.payment_intents set hold_check_at = '2999-01-01' where status = 'requires_capture'",
  );
  await fixture.test.admin('delete from checkout.health_card_statements');
});

const told = (substantiation: string | null) =>
  recordHealthCardStatement(fixture.context, fixture.scope, { substantiation, version: ++version });

/** 30.00 that needs a letter, in live mode, on a health card that was typed on the page, and 20.00 on another card if asked: 36 hours before the holds lapse. */
async function due(hasOther = false): Promise<Session> {
  const lines = [letterLine(3_000), ...(hasOther ? [line({ unitAmount: 2_000 })] : [])];
  const session = await fixture.session({ lines });
  const [hsa, visa] = await Promise.all(['tok_hsa', 'tok_visa'].map((card) => fixture.confirmationToken(card)));
  const cards = { paymentMethod: hsa ?? '', secondPaymentMethod: hasOther ? visa : undefined, slot: 'health' } as const;
  const shopper = { shippingDetails: null, onPage: true, refusesHealthCards: false };
  await completeWithCards(fixture.context, fixture.scope, { sessionId: session.id, ...cards, ...shopper });
  await fixture.sweepAll();
  const paid = await fixture.reload(session);
  expect(paid).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
  return fixture.due(paid);
}
const health = async (session: Session) => (await fixture.kinds(session)).health;

describe('a hold of a health card in live mode', () => {
  it('is not renewed once the statement is withdrawn, and its review ends with it [D14.233, D14.240, D14.304]', async () => {
    await told('iias');
    const session = await due();
    await told(null);
    await fixture.follow();
    expect(await health(session)).toEqual(['requires_capture']);
    const { reviewUntil } = await fixture.letters.onlyLetter(session);
    const leftHours = (reviewUntil.getTime() - fixture.clock.now().getTime()) / hour;
    expect(leftHours).toBeGreaterThan(17);
    expect(leftHours).toBeLessThan(18);
    // The statement that is given back comes too late for this hold.
    await told('iias');
    await fixture.lookAgain(session);
    await fixture.follow();
    expect(await health(session)).toEqual(['requires_capture']);
    await fixture.pass(18 * hour);
    await expireLetters(fixture.context).run(new AbortController().signal);
    await fixture.sweepAll();
    await fixture.isVoided(session);
    expect(await fixture.letters.onlyLetter(session)).toMatchObject({ status: 'expired' });
    expect((await fixture.timeline(session)).find(({ type }) => type === 'session.canceled')).toMatchObject({
      code: 'hold_not_renewed',
    });
  });

  it('is captured by the approval of a reviewer until then, also without the statement [D14.79, D14.304]', async () => {
    await told('iias');
    const session = await due();
    await told(null);
    await fixture.follow();
    const { id } = await fixture.letters.onlyLetter(session);
    const decided = await decideByReviewer(fixture.context, id, credential, 'approved');
    expect(decided).toMatchObject({ scope: { testMode: false }, letter: { status: 'approved' } });
    await fixture.sweepAll();
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 3_000 });
    expect(await health(session)).toEqual(['succeeded']);
  });

  it('is voided by the denial of a reviewer [D14.76, D14.79]', async () => {
    await told('iias');
    const session = await due(true);
    const { id } = await fixture.letters.onlyLetter(session);
    await expect(decideByReviewer(fixture.context, id, `${credential}x`, 'denied')).rejects.toThrow('unauthorized');
    await decideByReviewer(fixture.context, id, credential, 'denied');
    await fixture.sweepAll();
    await fixture.isVoided(session);
    expect(await fixture.kinds(session)).toEqual({ health: ['canceled'], other: ['canceled'] });
  });

  it('is renewed while the statement stands, and waits for a look after which it is told [D14.304]', async () => {
    const session = await due();
    await fixture.follow();
    expect(await health(session)).toEqual(['requires_capture']);
    await told('ninety_percent');
    await fixture.lookAgain(session);
    await fixture.follow();
    expect(await health(session)).toEqual(['canceled', 'requires_capture']);
  });

  it('ends its review at once if its card is detached, also before the account is told of [D14.240, D14.304]', async () => {
    const session = await due();
    await fixture.test.admin(
      `update checkout.payment_methods set detached_at = now()
       where id = (select payment_method_id from checkout.charge_attempts where subject_id = $1 and purpose = 'session')`,
      [session.id],
    );
    await fixture.follow();
    expect(await health(session)).toEqual(['requires_capture']);
    const { reviewUntil } = await fixture.letters.onlyLetter(session);
    expect((reviewUntil.getTime() - fixture.clock.now().getTime()) / hour).toBeLessThan(18);
  });

  it('is not renewed against the statement past the code either [D14.304]', async () => {
    await told('iias');
    const session = await due();
    await told(null);
    const renew = (columns: Record<string, unknown>) =>
      fixture.test.admin(
        `insert into checkout.charge_attempts
         select (jsonb_populate_record(a, jsonb_build_object('id', $2::text, 'payment_intent_id', $3::text, 'purpose', 'renewal') || $4)).*
         from checkout.charge_attempts a where subject_id = $1 and purpose = 'session'`,
        [session.id, newId('charge_attempt'), newId('payment_intent'), columns],
      );
    const refused = { constraint: 'renewals_hold_enabled_health_cards' };
    await expect(renew({ eligibility_record_id: null })).rejects.toMatchObject(refused);
    await expect(renew({ eligibility_record_id: null, card_kind: null })).rejects.toMatchObject(refused);
  });
});

it('renews the hold of a card that is no health card without a statement [D14.304]', async () => {
  await told(null);
  const session = await due(true);
  await fixture.test.admin(
    "update checkout.payment_intents set hold_check_at = '2999-01-01' where session_id = $1 and leg = 'health'",
    [session.id],
  );
  await fixture.follow();
  expect(await fixture.kinds(session)).toEqual({
    ...{ health: ['requires_capture'], other: ['canceled', 'requires_capture'] },
  });
});
