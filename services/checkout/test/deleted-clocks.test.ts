import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { setTestClock } from '../src/actions/set-test-clock.ts';
import { updateCustomer } from '../src/actions/update-customer.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { expireLetters } from '../src/jobs/expire-letters.ts';
import { expireSessions } from '../src/jobs/expire-sessions.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { dueSessionsOnClocks } from '../src/store/due-sessions.ts';
import { loadSession } from '../src/store/sessions.ts';
import { actingTime } from '../src/store/test-clocks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { sessionMessage, start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';

const DAY = 86_400_000;
const later = (days: number) => new Date(start.getTime() + days * DAY);
const signal = new AbortController().signal;

describe('a test clock that is deleted', () => {
  let fixture: ChargingFixture;
  let letters: ReturnType<typeof lettersFixture>;
  beforeAll(async () => {
    fixture = await openChargingFixture();
    letters = lettersFixture(fixture);
  });
  beforeEach(() => fixture.clock.set(start));
  afterAll(() => fixture.close());

  const setClock = (testClockId: string, frozenTime: Date, deleted: boolean) =>
    setTestClock(fixture.context, fixture.scope, { testClockId, frozenTime, deleted });
  /** A clock that stands ten days before the wall clock, with a customer. */
  const onClock = async () => {
    const testClockId = newId('test_clock');
    await setClock(testClockId, later(-10), false);
    const person = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
    const { customerId } = await createCustomer(fixture.context, fixture.scope, {
      ...person,
      ...{ metadata: {}, testClockId },
    });
    return { testClockId, customerId };
  };
  const expire = () => expireSessions(fixture.context).run(signal);
  const reload = ({ id }: Session) => loadSession(fixture.database, fixture.scope, id);

  it('lets its customers continue by the wall clock: what they buy next expires a day later', async () => {
    const { testClockId, customerId } = await onClock();
    await setClock(testClockId, later(-10), true);
    const session = await fixture.session({ customerId });
    expect(session).toMatchObject({ createdAt: start, expiresAt: later(1), testClockId: null });
    expect(await actingTime(fixture.database, fixture.scope, fixture.clock, customerId)).toEqual(start);
    const change = { firstName: 'Jo' };
    expect(await updateCustomer(fixture.context, fixture.scope, customerId, change)).toMatchObject({
      updatedAt: start,
    });
    fixture.clock.set(later(1));
    await expire();
    expect(await reload(session)).toMatchObject({ status: 'expired', endedAt: later(1) });
  });

  it('lets a session that was open on it expire by the wall clock, whatever the clock showed', async () => {
    const { testClockId, customerId } = await onClock();
    const [past, ahead] = [await fixture.session({ customerId }), await onClock()];
    await setClock(ahead.testClockId, later(60), false);
    const future = await fixture.session({ customerId: ahead.customerId });
    expect([past.expiresAt, future.expiresAt]).toEqual([later(-9), later(61)]);
    await setClock(testClockId, later(-10), true);
    await setClock(ahead.testClockId, later(60), true);
    await expire();
    expect((await reload(past))?.status).toBe('expired');
    expect((await reload(future))?.status).toBe('open');
    fixture.clock.set(later(61));
    await expire();
    expect(await reload(future)).toMatchObject({ status: 'expired', endedAt: later(61) });
    const left = 'select id from checkout.test_clocks where deleted_at is not null and left_at is null';
    expect(await fixture.test.admin(left)).toEqual([]);
  });

  it('lets the review of a letter end by the wall clock', async () => {
    const { testClockId, customerId } = await onClock();
    const card = await fixture.card('hsa', { customerId });
    const session = await fixture.session({ customerId, lines: [letterLine(3_000)] });
    await letters.pay(session, [card]);
    const letter = await letters.onlyLetter(session);
    await setClock(testClockId, later(-10), true);
    await expire();
    fixture.clock.set(new Date(letter.reviewUntil.getTime() - 1));
    await expireLetters(fixture.context).run(signal);
    expect((await letters.onlyLetter(session)).status).toBe('in_review');
    fixture.clock.set(letter.reviewUntil);
    await expireLetters(fixture.context).run(signal);
    expect((await letters.onlyLetter(session)).status).toBe('expired');
    expect(await reload(session)).toMatchObject({ status: 'canceled', endedAt: letter.reviewUntil });
  });

  it('lets the end of a letter be announced by the wall clock', async () => {
    const { testClockId, customerId } = await onClock();
    const card = await fixture.card('hsa', { customerId });
    const session = await fixture.session({ customerId, lines: [letterLine(3_000)] });
    await letters.pay(session, [card]);
    await letters.decide(await letters.onlyLetter(session), 'approved');
    await setClock(testClockId, later(-10), true);
    await expire();
    fixture.clock.set(later(-10 + 365 - 10));
    await expireLetters(fixture.context).run(signal);
    expect(await letters.told(await letters.onlyLetter(session))).toContain('consultation.will_expire');
  });

  it('has no session and no letter that a process of the release before writes on it later', async () => {
    const { testClockId, customerId } = await onClock();
    const card = await fixture.card('hsa', { customerId });
    const reviewed = await fixture.session({ customerId, lines: [letterLine(3_000)] });
    await letters.pay(reviewed, [card]);
    const letter = await letters.onlyLetter(reviewed);
    await setClock(testClockId, later(-10), true);
    fixture.clock.set(new Date(start.getTime() + 120_000));
    await expire();
    const left = 'select left_at from checkout.test_clocks where id = $1 and left_at is not null';
    expect(await fixture.test.admin(left, [testClockId])).toHaveLength(1);
    const context: Context = {
      ...fixture.context,
      creationFacts: {
        ...fixture.context.creationFacts,
        async submit(scope, query) {
          const facts = await fixture.context.creationFacts.submit(scope, query);
          const customer = { email: null, testClockId, frozenTime: later(-10) };
          return { ...facts, customer };
        },
      },
    };
    const request = sessionRequestOf(sessionMessage({ customerId }));
    const session = await createSession(context, fixture.call, request);
    expect(await reload(session)).toMatchObject({ status: 'open', expiresAt: later(-9), testClockId: null });
    await expire();
    expect((await reload(session))?.status).toBe('expired');
    const [copy] = await fixture.test.admin(
      `insert into checkout.letters select (jsonb_populate_record(l, jsonb_build_object('id', $2::text, 'product_id', $3::text, 'test_clock_id', $4::text))).*
       from checkout.letters l where l.id = $1 returning test_clock_id`,
      [letter.id, newId('letter'), newId('product'), testClockId],
    );
    expect(copy).toEqual({ test_clock_id: null });
  });

  it('takes no letter off a clock that runs, by the table alone', async () => {
    const { customerId } = await onClock();
    const card = await fixture.card('hsa', { customerId });
    const session = await fixture.session({ customerId, lines: [letterLine(3_000)] });
    await letters.pay(session, [card]);
    const { id } = await letters.onlyLetter(session);
    const bypassed = fixture.test.admin('update checkout.letters set test_clock_id = null where id = $1', [id]);
    await expect(bypassed).rejects.toThrow('does not change');
  });

  it('leaves room for other clocks: a page of what is due has some of each', async () => {
    const [many, one] = [await onClock(), await onClock()];
    const made: Session[] = [];
    for (let count = 0; count < 25; count += 1) made.push(await fixture.session({ customerId: many.customerId }));
    made.push(await fixture.session({ customerId: one.customerId }));
    await setClock(many.testClockId, later(0), false);
    await setClock(one.testClockId, later(0), false);
    const due = await dueSessionsOnClocks(fixture.database, 100);
    const own = due.map(({ sessionId }) => sessionId).filter((id) => made.some((session) => session.id === id));
    expect(own).toHaveLength(21);
    expect(own).toContain(made.at(-1)?.id);
    // All of them are due once more at once, until none is left.
    expect(await expire()).toBe(true);
    await expire();
    expect(new Set(await Promise.all(made.map(async (session) => (await reload(session))?.status)))).toEqual(
      new Set(['expired']),
    );
  });
});
