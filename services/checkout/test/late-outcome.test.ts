import { withTx } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { carryOutAttempt } from '../src/actions/carry-out-attempt.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import { takeOverAttempt } from '../src/actions/take-over-attempt.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findPendingAuthentication } from '../src/store/authentications.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { pay as payOnPage, sweepRounds } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const succeeded = 'checkout.session.async_payment_succeeded';
const failed = 'checkout.session.async_payment_failed';
const lateEvents = async (session: Session) => {
  const told = await fixture.told(session);
  return [told[succeeded] ?? 0, told[failed] ?? 0];
};
const sweepAll = () => sweepRounds(fixture, 3);
// The call is carried out, and neither its answer nor the look afterwards arrives.
const loseAnswers = async () => {
  await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
  await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_after', times: 1 });
};
// A processor's event says what became of a charge, and its process dies before it goes on with the plan.
const settleAlone = async (session: Session) => {
  await fixture.lapseLeases();
  const rows = await fixture.test.admin<{ id: string }>(
    'select id from checkout.charge_attempts where subject_id = $1',
    [session.id],
  );
  for (const { id } of rows) {
    const attempt = await withTx(fixture.database, fixture.scope, (tx) =>
      takeOverAttempt(fixture.context, tx, fixture.scope, id),
    );
    if (attempt !== undefined)
      await carryOutAttempt(fixture.context, fixture.scope, attempt, performance.now() + 5_000);
  }
};
const pay = (session: Session, cards: readonly { id: string }[]) => payOnPage(fixture, session, cards);

describe('a confirm whose outcome was not known when it was answered', () => {
  it.each([
    ['hsa', [1, 0]],
    ['insufficient_funds', [0, 1]],
  ])('is followed by one event once it is known: %s [STATE-1]', async (name, events) => {
    const card = await fixture.card(name);
    const session = await fixture.mixedSession(card);
    await loseAnswers();
    await expect(fixture.confirm(session, card, { key: name })).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    expect(await lateEvents(session)).toEqual([0, 0]);
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
    await fixture.confirm(session, card, { key: name }).catch(() => undefined);
    expect(await lateEvents(session)).toEqual(events);
  });

  it('failed if it was canceled because it did not set out in time [STATE-1, D14.30]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    await fixture.test.admin(
      "update checkout.charge_attempts set confirm_until = now() - interval '1 second' where subject_id = $1",
      [session.id],
    );
    await sweepAll();
    expect(await lateEvents(session)).toEqual([0, 1]);
  });
});

describe('a confirm that a plan carries out, and whose outcome was not known when it was answered', () => {
  it.each([
    ['its key comes again', 'hsa', [1, 0]],
    ['its key comes again', 'hsa_insufficient_funds', [0, 1]],
    ['the sweep finds it out', 'hsa', [1, 0]],
  ])('is followed by one event when %s: %s [D14.324]', async (by, name, events) => {
    const card = await fixture.card(name);
    const session = await fixture.mixedSession(card);
    await loseAnswers();
    const request = { key: `${by} ${name}`, acceptsPart: true };
    const confirm = () => fixture.confirm(session, card, request);
    await expect(confirm()).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    expect(await lateEvents(session)).toEqual([0, 0]);
    if (by === 'the sweep finds it out') await sweepAll();
    else {
      // The look that is lost, and the next one.
      await settleAlone(session);
      await settleAlone(session);
      await fixture.lapseLeases();
      const answer = await confirm().catch((error: { code: string }) => error.code);
      expect(answer).not.toBe('idempotency_key_in_use');
    }
    expect(await lateEvents(session)).toEqual(events);
    await confirm().catch(() => undefined);
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
  });
});

describe('an off-session session that is charged at its creation', () => {
  it.each([
    ['credit', 'complete', [1, 0]],
    ['insufficient_funds', 'open', [0, 1]],
  ])('is followed by one event once its outcome is known: %s [STATE-1]', async (name, status, events) => {
    const card = await fixture.card(name);
    await loseAnswers();
    const session = await fixture.mixedSession(card, { mode: 'off_session', paymentMethodId: card.id });
    expect(session).toMatchObject({ status: 'open', nextAction: null });
    expect(await lateEvents(session)).toEqual([0, 0]);
    await sweepAll();
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({ status });
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
  });
});

describe('a payment on the page', () => {
  it.each([
    ['credit', [1, 0]],
    ['declined', [0, 1]],
  ])('whose outcome is learned after its answer is followed by one event: %s [STATE-1]', async (name, events) => {
    const cards = await Promise.all([fixture.card('hsa'), fixture.card(name)]);
    const session = await fixture.mixedSession(cards[0]);
    // The second card's.
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 0, times: 1 });
    await loseAnswers();
    expect(await pay(session, cards)).toMatchObject({ status: 'open', nextAction: null });
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
  });

  it.each([
    ['the shopper’s browser', true, [1, 0]],
    ['the shopper’s browser', false, [0, 1]],
    ['the sweep', true, [1, 0]],
    ['the sweep', false, [0, 1]],
  ])(
    'whose bank asks the shopper is followed by one event, whoever learns the outcome: %s, passed: %s [D14.324]',
    async (by, passed, events) => {
      const session = await fixture.session({ lines: [line({ unitAmount: 6_000 })] });
      const given = { sessionId: session.id, secondPaymentMethod: undefined, shippingDetails: null, onPage: true };
      const asked = await completeWithCards(fixture.context, fixture.scope, {
        ...{ ...given, slot: 'other', refusesHealthCards: false },
        paymentMethod: await fixture.confirmationToken('tok_authenticationRequired'),
      });
      expect(asked.status).toBe('open');
      const resume = () => resumeAuthentication(fixture.context, fixture.scope, session.id, false);
      // Asked before the shopper has answered: nothing is learned.
      await resume();
      expect(await lateEvents(session)).toEqual([0, 0]);
      const pending = await findPendingAuthentication(fixture.database, fixture.scope, session.id);
      const bank = fixture.context.processors.of(fixture.scope).testBank;
      await bank?.authenticate(pending?.processorIntentId ?? '', passed);
      if (by === 'the sweep') await sweepAll();
      else await resume();
      expect(await lateEvents(session)).toEqual(events);
      await resume();
      await sweepAll();
      expect(await lateEvents(session)).toEqual(events);
    },
  );

  it.each([
    ['fails', 'the browser'],
    ['leaves', 'the sweep'],
  ])(
    'with a health card alone, for a mixed cart, is told as failed where its bank asks and the shopper %s [D14.324]',
    async (how, by) => {
      const session = await fixture.session({
        lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })],
      });
      await completeWithCards(fixture.context, fixture.scope, {
        ...{ sessionId: session.id, secondPaymentMethod: undefined, shippingDetails: null, onPage: true },
        ...{ slot: 'health', refusesHealthCards: false },
        paymentMethod: await fixture.confirmationToken('tok_authenticationRequired'),
      });
      const pending = await findPendingAuthentication(fixture.database, fixture.scope, session.id);
      if (how === 'fails') {
        const bank = fixture.context.processors.of(fixture.scope).testBank;
        await bank?.authenticate(pending?.processorIntentId ?? '', false);
      } else {
        await fixture.test.admin('update checkout.charge_attempts set confirm_until = now() where id = $1', [
          pending?.attemptId,
        ]);
      }
      if (by === 'the browser') await resumeAuthentication(fixture.context, fixture.scope, session.id, false);
      await sweepAll();
      expect(await lateEvents(session)).toEqual([0, 1]);
    },
  );

  it('has none where another card pays that is given after such an outcome, and tells it [D14.324]', async () => {
    const cards = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(cards[0]);
    await loseAnswers();
    expect(await pay(session, cards.slice(0, 1))).toMatchObject({ status: 'open', nextAction: null });
    // The look that is lost, and the next one. By the wall clock the second card is late already, so only the plan is gone on with.
    await settleAlone(session);
    await settleAlone(session);
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      nextAction: { type: 'provide_second_payment_method' },
    });
    expect(await pay(session, cards.slice(1))).toMatchObject({ status: 'complete' });
    expect(await lateEvents(session)).toEqual([0, 0]);
  });

  it('has no such event when its answer tells the outcome, or when a second card does not come [STATE-1]', async () => {
    const [hsa, credit, declined] = await Promise.all(['hsa', 'credit', 'declined'].map((name) => fixture.card(name)));
    if (hsa === undefined || credit === undefined || declined === undefined) throw new Error('a card is missing');
    const [paid, refused, waiting] = await Promise.all(Array.from({ length: 3 }, () => fixture.mixedSession(hsa)));
    if (paid === undefined || refused === undefined || waiting === undefined) throw new Error('a session is missing');
    await pay(paid, [hsa, credit]);
    await pay(refused, [hsa, declined]);
    await pay(waiting, [hsa]);
    await fixture.test.admin('update checkout.payment_plans set release_at = now() where session_id = $1', [
      waiting.id,
    ]);
    await sweepAll();
    for (const session of [paid, refused, waiting]) expect(await lateEvents(session)).toEqual([0, 0]);
    expect(await fixture.told(waiting)).toMatchObject({ 'payment_intent.canceled': 1 });
  });
});
