import { scoped, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { readPage } from '../src/actions/read-page.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findPendingAuthentication } from '../src/store/authentications.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
});

const guest = () =>
  fixture.session({
    lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })],
  });
const typed = (...tokens: string[]) => Promise.all(tokens.map((token) => fixture.confirmationToken(token)));
const pay = (session: Session, [first, second]: readonly string[]) =>
  completeWithCards(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second },
    ...{ slot: 'health', secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
const page = (session: Session) => readPage(fixture.context, fixture.scope, session.id);
const resume = (session: Session, giveUp = false) =>
  resumeAuthentication(fixture.context, fixture.scope, session.id, giveUp);
const pendingOf = (session: Session) => findPendingAuthentication(fixture.database, fixture.scope, session.id);

// What the shopper does in the bank's window.
async function answer(session: Session, passed: boolean): Promise<void> {
  const { processorIntentId = '' } = (await pendingOf(session)) ?? {};
  await fixture.context.processors.of(fixture.scope).testBank?.authenticate(processorIntentId, passed);
}
async function sweep(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
  }
}
// The two cards of a mixed cart: the second asks for authentication.
async function asked(): Promise<Session> {
  const session = await guest();
  expect((await pay(session, await typed('tok_hsa', 'tok_authenticationRequired'))).status).toBe('open');
  return session;
}
const capturedOf = async (session: Session) =>
  (await fixture.charges(session)).map(({ amount_captured: amount }) => amount).filter((amount) => amount > 0);

describe('a bank that asks the shopper of a page to authenticate', () => {
  it('gets the page the secret of that one intent, and charges once the shopper has passed [D14.112]', async () => {
    const session = await asked();
    const waiting = await page(session);
    expect(waiting).toMatchObject({ paymentInFlight: true, clientSecret: expect.stringMatching(/^pi_.*_secret_/) });
    // No document has a secret: the processor is not even asked for it.
    const silent = fixture.contextWith(() => ({
      retrieveIntent: () => Promise.reject(new Error('A secret was asked for')),
    }));
    const document = await readPage(silent, fixture.scope, session.id, { forDocument: true });
    expect(document).toMatchObject({ paymentInFlight: true, clientSecret: undefined });
    await expect(readPage(silent, fixture.scope, session.id)).rejects.toThrow('A secret was asked for');
    // Nothing is believed without the processor's word: a page that says so too early changes nothing.
    expect((await resume(session)).status).toBe('open');
    await answer(session, true);
    expect((await resume(session)).status).toBe('complete');
    expect((await page(session)).clientSecret).toBeUndefined();
    expect(await capturedOf(session)).toEqual(expect.arrayContaining([4_000, 6_000]));
    expect(await fixture.charges(session)).toHaveLength(2);
  });

  it('is asked by the sweeper where the page was closed after it [D14.112]', async () => {
    const session = await asked();
    await answer(session, true);
    await sweep();
    expect((await page(session)).session.status).toBe('complete');
    expect(await fixture.charges(session)).toHaveLength(2);
  });

  it('refuses a shopper who fails, voids the other card’s hold, and takes another card [D14.112]', async () => {
    const session = await asked();
    await answer(session, false);
    const refused = await resume(session);
    expect(refused).toMatchObject({
      status: 'open',
      nextAction: { type: 'payment_failed', errorCode: 'payment_intent_authentication_failure' },
    });
    expect(await capturedOf(session)).toEqual([]);
    expect((await pay(session, await typed('tok_hsa', 'tok_visa'))).status).toBe('complete');
    expect((await capturedOf(session)).toSorted()).toEqual([4_000, 6_000]);
  });

  it('is left for another card, after which the shopper’s answer charges nothing [D14.112]', async () => {
    const session = await asked();
    const { processorIntentId = '' } = (await pendingOf(session)) ?? {};
    expect((await resume(session, true)).nextAction).toMatchObject({
      type: 'payment_failed',
      errorCode: 'authentication_required',
    });
    const bank = fixture.context.processors.of(fixture.scope).testBank;
    expect(await bank?.authenticate(processorIntentId, true)).toMatchObject({ kind: 'rejected' });
    expect(await capturedOf(session)).toEqual([]);
    expect((await pay(session, await typed('tok_hsa', 'tok_visa'))).status).toBe('complete');
  });

  it('keeps the charge of a shopper who passed before asking for another card [D14.112]', async () => {
    const session = await asked();
    await answer(session, true);
    expect((await resume(session, true)).status).toBe('complete');
  });

  it('waits no longer than the time to confirm: then the intent is canceled, and the session can end [D14.30, D14.112]', async () => {
    const session = await asked();
    const { processorIntentId = '', attemptId = '' } = (await pendingOf(session)) ?? {};
    await expect(cancelSession(fixture.context, fixture.scope, session.id)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await fixture.test.admin('update checkout.charge_attempts set confirm_until = now() where id = $1', [attemptId]);
    await sweep();
    expect((await page(session)).session.nextAction).toMatchObject({ type: 'payment_failed' });
    const processor = fixture.context.processors.of(fixture.scope);
    expect(await processor.retrieveIntent(processorIntentId)).toMatchObject({ kind: 'canceled' });
    expect(await processor.testBank?.authenticate(processorIntentId, true)).toMatchObject({ kind: 'rejected' });
    await cancelSession(fixture.context, fixture.scope, session.id);
    expect((await page(session)).session.status).toBe('canceled');
    expect(await capturedOf(session)).toEqual([]);
  });

  it('charges once for two tabs and the sweeper at the same time [D14.112]', async () => {
    const session = await asked();
    await answer(session, true);
    await fixture.lapseLeases();
    await Promise.all([resume(session), resume(session, true), sweepCharges(fixture.context)]);
    await sweep();
    expect((await page(session)).session.status).toBe('complete');
    expect((await capturedOf(session)).toSorted()).toEqual([4_000, 6_000]);
    expect(await fixture.charges(session)).toHaveLength(2);
  });

  it.each([
    ['authentication.asked', true],
    ['authentication.claimed', false],
    ['authentication.settled', false],
  ] as const)('charges once, or voids what it holds, across a crash at %s [D14.112]', async (name, isAtPayment) => {
    for (const passes of [true, false]) {
      const session = await guest();
      const cards = await typed('tok_hsa', 'tok_authenticationRequired');
      turnFailpointsOn();
      if (isAtPayment) armFailpoint(name, { action: 'error' });
      const paid = pay(session, cards);
      if (isAtPayment) await expect(paid).rejects.toThrow();
      else await paid;
      await answer(session, passes);
      if (!isAtPayment) {
        armFailpoint(name, { action: 'error' });
        await expect(resume(session)).rejects.toThrow();
      }
      turnFailpointsOff();
      await sweep();
      expect((await page(session)).session.status).toBe(passes ? 'complete' : 'open');
      expect((await capturedOf(session)).toSorted()).toEqual(passes ? [4_000, 6_000] : []);
    }
  });

  it('asks nobody where no shopper is there: the card is declined [D14.112]', async () => {
    const session = await guest();
    const [hsa, other] = [await fixture.card('hsa'), await fixture.card('authentication_required')];
    const paid = await completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: [hsa.id, other.id], shippingDetails: null },
    });
    expect(paid.nextAction).toMatchObject({ type: 'payment_failed', errorCode: 'authentication_required' });
    expect(await pendingOf(session)).toBeUndefined();
  });

  it('leaves a note that the role can neither change nor remove', async () => {
    await asked();
    const own = 'where account_id = $1 and test_mode = $2';
    for (const text of [
      `update checkout.authentications set requested_at = now() ${own}`,
      `delete from checkout.authentications ${own}`,
    ]) {
      const change = scoped(`test.${newId('request')}`, text);
      const bypassed = withTx(fixture.database, fixture.scope, (tx) => tx.execute(change, fixture.scope));
      await expect(bypassed).rejects.toThrow('permission denied');
    }
  });
});
