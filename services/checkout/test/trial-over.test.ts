import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { completeOnPage } from '../src/actions/complete-with-cards.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { readPage } from '../src/actions/read-page.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import { setTestClock } from '../src/actions/set-test-clock.ts';
import type { CardSlot } from '../src/domain/card-kind.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findAskedSetUp } from '../src/store/set-up-authentications.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const terms = { shippingCountries: ['US'], termsAccepted: false };
const anHourMs = 3_600_000;

/** A mixed cart whose trial ends in an hour by its customer's clock, and what moves that clock past it. */
async function endingTrial(): Promise<{ session: Session; endTrial(): Promise<void> }> {
  const { context, scope } = fixture;
  const [testClockId, start] = [newId('test_clock'), new Date(fixture.clock.now().getTime() - 7 * anHourMs)];
  const setClock = (frozenTime: Date) => setTestClock(context, scope, { testClockId, frozenTime, deleted: false });
  await setClock(start);
  const none = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
  const { customerId } = await createCustomer(context, scope, { ...none, metadata: {}, testClockId });
  const session = await fixture.session({
    ...{ mode: 'subscription', customerId },
    lines: [
      line({ unitAmount: 4_000, class: 'auto_substantiation', recurring: true }),
      line({ unitAmount: 6_000, recurring: true }),
    ],
    subscriptionData: { trialEndMs: BigInt(start.getTime() + anHourMs) },
  });
  return { session, endTrial: () => setClock(new Date(start.getTime() + anHourMs)) };
}

const read = (session: Session) => readPage(fixture.context, fixture.scope, session.id);
async function pay(session: Session, cards: readonly [CardSlot, string][], shownSplit: string | null) {
  const [first, second] = await Promise.all(cards.map(([, token]) => fixture.confirmationToken(token)));
  const given = {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second },
    ...{ slot: cards[0]?.[0], secondSlot: cards[1]?.[0], shownSplit: shownSplit ?? '' },
    ...{ shippingDetails: null, onPage: true, refusesHealthCards: false },
  };
  return (await completeOnPage(fixture.context, fixture.scope, given, terms)).session;
}
const both: readonly [CardSlot, string][] = [
  ['health', 'tok_hsa'],
  ['other', 'tok_visa'],
];
const amounts = async (session: Session) => (await fixture.charges(session)).map(({ amount }) => amount).sort();
const changed = { code: 'checkout_session_amount_changed' };

it('charges nothing of a trial that ended since the page showed it, until the page shows what is due now [D14.180]', async () => {
  const { session, endTrial } = await endingTrial();
  const shown = await read(session);
  expect(shown).toMatchObject({ dueNowCents: 0, trialEnd: expect.any(Date) });
  await endTrial();
  await expect(pay(session, both, shown.splitVersion)).rejects.toMatchObject(changed);
  expect(await amounts(session)).toEqual([]);
  const page = await read(session);
  expect(page).toMatchObject({ dueNowCents: 10_000, healthCardCents: 4_000, trialEnd: null, renewal: undefined });
  expect(await pay(session, both, page.splitVersion)).toMatchObject({ status: 'complete' });
  expect(await amounts(session)).toEqual([4_000, 6_000]);
});

it('asks for both cards anew where the trial ended while it waited for the second one [D14.180]', async () => {
  const { session, endTrial } = await endingTrial();
  const { splitVersion } = await read(session);
  const waiting = { nextAction: { type: 'provide_second_payment_method' } };
  expect(await pay(session, [['health', 'tok_hsa']], splitVersion)).toMatchObject(waiting);
  const shown = await read(session);
  expect(shown.session).toMatchObject(waiting);
  await endTrial();
  await expect(pay(session, [['other', 'tok_visa']], shown.splitVersion)).rejects.toMatchObject(changed);
  expect(await amounts(session)).toEqual([]);
  const page = await read(session);
  expect(page).toMatchObject({ dueNowCents: 10_000, healthCardCents: 4_000, session: { nextAction: null } });
  // A payment that then waits for its second card says so.
  await pay(session, [['health', 'tok_hsa']], page.splitVersion);
  const held = await read(session);
  expect(held.session).toMatchObject(waiting);
  expect(await pay(session, [['other', 'tok_visa']], held.splitVersion)).toMatchObject({ status: 'complete' });
  expect(await amounts(session)).toEqual([4_000, 6_000]);
});

it('charges nothing where the bank answers after the trial has ended [D14.170, D14.180]', async () => {
  const { session, endTrial } = await endingTrial();
  const { splitVersion } = await read(session);
  await pay(session, [['other', 'tok_authenticationRequired']], splitVersion);
  const { setupIntentId = null } = (await loadSession(fixture.database, fixture.scope, session.id)) ?? {};
  const asked = await findAskedSetUp(fixture.database, fixture.scope, setupIntentId);
  await fixture.context.processors.of(fixture.scope).testBank?.authenticate(asked?.processorSetupIntentId ?? '', true);
  await endTrial();
  const resumed = resumeAuthentication(fixture.context, fixture.scope, session.id, false);
  await expect(resumed).rejects.toMatchObject(changed);
  expect(await amounts(session)).toEqual([]);
  expect(await read(session)).toMatchObject({ paymentInFlight: false, dueNowCents: 10_000 });
});
