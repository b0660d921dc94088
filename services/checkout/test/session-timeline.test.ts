import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expireLetterIfDue } from '../src/actions/expire-letter.ts';
import type { Session } from '../src/domain/session.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: ReturnType<typeof lettersFixture>;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.clock.set(start));

const later = (minutes: number) => fixture.clock.set(new Date(start.getTime() + minutes * 60_000));

// Oldest first, as it happened.
async function timelineOf(session: Session) {
  const timeline = await readSessionTimeline(fixture.database, fixture.scope, session.id);
  if (timeline === undefined) throw new Error('no timeline');
  return { ...timeline, entries: timeline.entries.toReversed() };
}

const typesOf = async (session: Session) => (await timelineOf(session)).entries.map(({ type }) => type);

describe('the timeline of a session', () => {
  it('says why a card was declined, that the letter was denied, and that the holds were voided [D14.141]', async () => {
    const [declined, hsa, credit] = await Promise.all([
      fixture.card('insufficient_funds'),
      fixture.card('hsa'),
      fixture.card('credit'),
    ]);
    const session = await fixture.session({
      lines: [letterLine(3_000), line({ unitAmount: 2_000 })],
      customerId: hsa.customerId,
    });
    later(1);
    await letters.pay(session, [hsa, declined]);
    later(2);
    await letters.pay(session, [hsa, credit]);
    later(3);
    const letter = await letters.onlyLetter(session);
    await letters.decide(letter, 'denied');
    const { entries, hasMore } = await timelineOf(session);
    expect(hasMore).toBe(false);
    expect(entries.map(({ type }) => type)).toEqual([
      'session.created',
      ...['payment.created', 'payment.created', 'payment.authorized', 'payment.failed', 'hold.voided'],
      ...['payment.created', 'payment.created', 'payment.authorized', 'payment.authorized', 'letter.requested'],
      ...['letter.denied', 'hold.voided', 'hold.voided', 'session.canceled'],
    ]);
    const of = (type: string) => entries.filter((entry) => entry.type === type);
    expect(of('session.created')).toMatchObject([{ recordId: session.id, amountCents: 5_000, status: 'canceled' }]);
    expect(of('payment.failed')).toMatchObject([
      {
        code: 'card_declined',
        declineCode: 'insufficient_funds',
        amountCents: 2_000,
        at: new Date('2026-03-01T12:01:00Z'),
      },
    ]);
    expect(of('letter.denied')).toMatchObject([{ recordId: letter.id, at: new Date('2026-03-01T12:03:00Z') }]);
    expect(of('session.canceled')).toMatchObject([{ code: 'letter_denied' }]);
    expect(of('hold.voided').map(({ amountCents }) => amountCents)).toEqual([3_000, 3_000, 2_000]);
  });

  it('says that an approved letter was captured, and that one without a decision ended the session [D14.141]', async () => {
    const approved = await letters.held();
    later(1);
    await letters.decide(await letters.onlyLetter(approved), 'approved');
    expect((await typesOf(approved)).slice(-4)).toEqual([
      'letter.requested',
      'letter.approved',
      'capture.succeeded',
      'session.completed',
    ]);
    fixture.clock.set(start);
    const lapsed = await letters.held();
    const letter = await letters.onlyLetter(lapsed);
    fixture.clock.set(letter.reviewUntil);
    await expireLetterIfDue(fixture.context, fixture.scope, letter.id);
    expect((await timelineOf(lapsed)).entries.at(-1)).toMatchObject({
      type: 'session.canceled',
      code: 'letter_expired',
    });
  });

  it('shows an unknown outcome until it is known [D14.141]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'error_after', times: 1 });
    await expect(fixture.confirm(session, hsa)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    const unknown = (await timelineOf(session)).entries.find(({ type }) => type === 'payment.outcome_unknown');
    // The session's time, as of the entries beside it.
    expect(unknown).toMatchObject({ at: start });
    await fixture.clearFaults();
    await letters.sweepAll();
    const types = await typesOf(session);
    expect(types).not.toContain('payment.outcome_unknown');
    expect(types).toEqual(expect.arrayContaining(['payment.succeeded', 'session.completed']));
  });

  it('has the latest entries of a session with many payments, and says that there are more [D14.141]', async () => {
    const session = await fixture.session({ lines: [line({ unitAmount: 2_000 })] });
    await fixture.test.admin(
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
       select $1, true, 'fpi_' || n, $2, 'other', 'automatic', 'processing', 2000, now() + n * interval '1 second'
         from generate_series(100, 199) n`,
      [fixture.scope.accountId, session.id],
    );
    const { entries, hasMore } = await timelineOf(session);
    expect([entries.length, hasMore]).toEqual([52, true]);
    expect(entries.at(-1)).toMatchObject({ type: 'payment.created', recordId: 'fpi_199' });
  });

  // A session with a letter that waits: it has two payments and a letter.
  it.each([
    [
      'payments',
      48,
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
       select s.account_id, true, 'fpi_' || id || n, id, 'other', 'automatic', 'processing', 2000, now()`,
    ],
    [
      'letters',
      99,
      `insert into checkout.letters (account_id, test_mode, id, session_id, product_id, customer_id, status, review_until, created_at)
       select l.account_id, true, l.id || n, l.session_id, l.product_id || n, l.customer_id, l.status, l.review_until, now()`,
    ],
    [
      'captures',
      50,
      `insert into checkout.captures (account_id, test_mode, id, session_id, cause, status, amount_cents, tax_cents, shipping_cents,
         discount_cents, final, created_at)
       select account_id, true, 'fcap_' || id || n, id, 'session', 'failed', 0, 0, 0, 0, true, now()`,
    ],
    [
      'cards that were not saved',
      80,
      `with made as (
         insert into checkout.setup_intents (account_id, test_mode, id, status, created_at)
         select account_id, true, 'fseti_' || id, 'requires_payment_method', now() from checkout.sessions where id = $1 on conflict do nothing)
       insert into checkout.set_up_failures (account_id, test_mode, session_id, setup_intent_id, failure_code, failed_at)
       select account_id, true, id, 'fseti_' || id, 'card_declined', now()`,
    ],
  ])('says that there are more %s only where there are [D14.141]', async (what, count, insert) => {
    const session = await letters.held();
    const of =
      what === 'letters' ? 'checkout.sessions s join checkout.letters l on l.session_id = s.id' : 'checkout.sessions s';
    const add = (from: number, to: number) =>
      fixture.test.admin(`${insert} from ${of}, generate_series($2::int, $3::int) n where s.id = $1`, [
        session.id,
        from,
        to,
      ]);
    await add(1, count);
    expect((await timelineOf(session)).hasMore).toBe(false);
    await add(count + 1, count + 1);
    expect((await timelineOf(session)).hasMore).toBe(true);
  });

  it('is not there for another account, the other mode, or a session that does not exist', async () => {
    const { id } = await fixture.session({ lines: [line({ unitAmount: 2_000 })] });
    for (const scope of [
      { ...fixture.scope, accountId: newId('account') },
      { ...fixture.scope, testMode: false },
    ]) {
      expect(await readSessionTimeline(fixture.database, scope, id)).toBeUndefined();
    }
    expect(await readSessionTimeline(fixture.database, fixture.scope, newId('checkout_session'))).toBeUndefined();
  });
});
