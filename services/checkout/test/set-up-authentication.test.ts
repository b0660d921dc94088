import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { readPage } from '../src/actions/read-page.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import type { Session } from '../src/domain/session.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findAskedSetUp } from '../src/store/set-up-authentications.ts';
import { findBackupOf, findSetupIntent } from '../src/store/setup-intents.ts';
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

const asking = 'tok_authenticationRequired';
/** As the sandbox's fields give it in test mode, and as Stripe's do in live mode. */
const kinds: [string, (token: string) => Promise<string>][] = [
  ['a payment method', (token) => fixture.typedCard(token)],
  ['a confirmation token', (token) => fixture.confirmationToken(token)],
];
const typed = (...tokens: string[]) => Promise.all(tokens.map((token) => fixture.confirmationToken(token)));
async function setUp(): Promise<Session> {
  const { customerId } = await fixture.card('credit');
  return fixture.session({ mode: 'setup', lines: [], customerId });
}
async function trial(...lines: ReturnType<typeof line>[]): Promise<Session> {
  const { customerId } = await fixture.card('credit');
  const subscriptionData = { trialPeriodDays: 14 };
  return fixture.session({ mode: 'subscription', customerId, lines, subscriptionData });
}
const pay = (session: Session, [first, second]: readonly string[], context = fixture.context) =>
  completeWithCards(context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second },
    ...{ slot: 'health', secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
const page = (session: Session) => readPage(fixture.context, fixture.scope, session.id);
const resume = (session: Session, giveUp = false) =>
  resumeAuthentication(fixture.context, fixture.scope, session.id, giveUp);
async function askedOf({ id }: Session) {
  const session = await loadSession(fixture.database, fixture.scope, id);
  return findAskedSetUp(fixture.database, fixture.scope, session?.setupIntentId ?? null);
}
// What the shopper does in the bank's window.
async function answer(session: Session, passed: boolean): Promise<void> {
  const { processorSetupIntentId = '' } = (await askedOf(session)) ?? {};
  await fixture.context.processors.of(fixture.scope).testBank?.authenticate(processorSetupIntentId, passed);
}

describe('a bank that asks about a card that is only saved', () => {
  it.each(kinds)(
    'gets the page the secret of that one set-up, and %s is saved once the shopper has passed [D14.170]',
    async (_kind, card) => {
      const session = await setUp();
      expect(await pay(session, [await card(asking)])).toMatchObject({ status: 'open', nextAction: null });
      const waiting = await page(session);
      expect(waiting).toMatchObject({ paymentInFlight: true, clientSecret: expect.stringMatching(/^seti_.*_secret_/) });
      expect(waiting.isSetUpAnswered).toBe(false);
      const document = await readPage(fixture.context, fixture.scope, session.id, { forDocument: true });
      expect(document).toMatchObject({ paymentInFlight: true, clientSecret: undefined });
      // A page that says so too early changes nothing.
      expect((await resume(session)).status).toBe('open');
      await answer(session, true);
      const [one, other] = await Promise.all([resume(session), resume(session)]);
      expect([one.status, other.status]).toContain('complete');
      const after = await page(session);
      expect(after).toMatchObject({ paymentInFlight: false, clientSecret: undefined, session: { status: 'complete' } });
      const saved = await findSetupIntent(fixture.database, fixture.scope, after.session.setupIntentId ?? '');
      expect(saved?.status).toBe('succeeded');
      const method = await findPaymentMethod(fixture.database, fixture.scope, saved?.paymentMethodId ?? '');
      expect(method).toMatchObject({ customerId: session.customerId, offSession: true });
      expect(method?.processorPaymentMethodId).toMatch(/^pm_/);
    },
  );

  it('that is not convinced saves nothing, and another card is saved instead [D14.170]', async () => {
    const session = await setUp();
    await pay(session, await typed(asking));
    await answer(session, false);
    expect(await resume(session)).toMatchObject({
      ...{ status: 'open', nextAction: { type: 'payment_failed', errorCode: 'setup_intent_authentication_failure' } },
    });
    expect((await page(session)).paymentInFlight).toBe(false);
    expect((await pay(session, await typed('tok_visa'))).status).toBe('complete');
  });

  it('is left for another card: its set-up is canceled first, and saves nothing whatever the browser still does [D14.170]', async () => {
    const session = await setUp();
    await pay(session, await typed(asking));
    const asked = await askedOf(session);
    expect(await resume(session, true)).toMatchObject({ nextAction: { declineCode: 'authentication_required' } });
    const processor = fixture.context.processors.of(fixture.scope);
    const late = await processor.testBank?.authenticate(asked?.processorSetupIntentId ?? '', true);
    expect(late).toMatchObject({ kind: 'rejected' });
    expect((await processor.retrieveSetupIntent(asked?.processorSetupIntentId ?? '')).kind).toBe('canceled');
    expect((await pay(session, await typed('tok_visa'))).status).toBe('complete');
  });

  it('and whose question another card takes the place of counts as a decline, once [D14.321]', async () => {
    const session = await setUp();
    const [asked] = await typed(asking);
    const declines = async () => (await loadSession(fixture.database, fixture.scope, session.id))?.declinesOnPage;
    for (const _ of [1, 2]) await pay(session, [asked ?? '']);
    expect(await declines()).toBe(0);
    await pay(session, await typed(asking));
    expect(await declines()).toBe(1);
    expect((await pay(session, await typed('tok_visa'))).status).toBe('complete');
    expect(await declines()).toBe(2);
  });

  it.each([
    ['a set-up session', setUp],
    ['a trial', () => trial(line({ unitAmount: 4_000, class: 'auto_substantiation', recurring: true }))],
  ])(
    'that has passed is saved where the question that it displaced was the last decline of its session: %s [D14.321]',
    async (_kind, open) => {
      const session = await open();
      await pay(session, await typed(asking));
      await fixture.test.admin('update checkout.sessions set declines_on_page = 19 where id = $1', [session.id]);
      expect(await pay(session, await typed(asking))).toMatchObject({ status: 'open' });
      expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({ declinesOnPage: 20 });
      await answer(session, true);
      expect(await resume(session)).toMatchObject({ status: 'complete', declinesOnPage: 20 });
    },
  );

  it('saves no card once the customer is deleted, whenever that is [D14.323]', async () => {
    const waiting = await setUp();
    await pay(waiting, await typed(asking));
    await answer(waiting, true);
    const asked = await askedOf(waiting);
    await deleteCustomer(fixture.context, fixture.scope, waiting.customerId ?? '');
    expect((await resume(waiting)).status).toBe('open');
    expect(await askedOf(waiting)).toBeUndefined();
    expect(await findSetupIntent(fixture.database, fixture.scope, asked?.id ?? '')).toMatchObject({
      status: 'processing',
    });

    const session = await setUp();
    const deleting = fixture.contextWith((port) => ({
      async confirmSetupIntent(...given) {
        const confirmed = await port.confirmSetupIntent(...given);
        await deleteCustomer(fixture.context, fixture.scope, session.customerId ?? '');
        return confirmed;
      },
    }));
    await expect(pay(session, await typed('tok_visa'), deleting)).rejects.toMatchObject({ code: 'customer_not_found' });
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({ status: 'open' });
  });

  it('asks about each of two cards, one after the other [D14.170, D14.173]', async () => {
    const session = await setUp();
    await pay(session, await typed(asking, asking));
    const first = await askedOf(session);
    await answer(session, true);
    expect((await resume(session)).status).toBe('open');
    const second = await askedOf(session);
    expect(second?.id).not.toBe(first?.id);
    await answer(session, true);
    const done = await resume(session);
    expect(done.status).toBe('complete');
    const backup = await findBackupOf(fixture.database, fixture.scope, done.setupIntentId ?? '');
    expect(backup).toMatchObject({ id: second?.id, status: 'succeeded' });
  });

  it('holds a trial back until it has its answer, and no card is charged [D14.170, D14.180]', async () => {
    const session = await trial(
      line({ unitAmount: 4_000, class: 'auto_substantiation', recurring: true }),
      line({ unitAmount: 6_000, recurring: true }),
    );
    expect((await pay(session, await typed('tok_hsa', asking))).status).toBe('open');
    expect(await page(session)).toMatchObject({
      paymentInFlight: true,
      clientSecret: expect.stringContaining('seti_'),
    });
    await answer(session, true);
    expect(await resume(session)).toMatchObject({ status: 'complete', amountReceivedCents: 0 });
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('and whose page is closed after it: the next look at the page says so, also after a crash [D14.170]', async () => {
    const session = await setUp();
    await pay(session, await typed(asking, 'tok_visa'));
    await answer(session, true);
    turnFailpointsOn();
    armFailpoint('set_up.authenticated', { action: 'error' });
    await expect(resume(session)).rejects.toThrow();
    turnFailpointsOff();
    // A look reads alone; it says that a request can go on.
    for (let look = 0; look < 2; look++) {
      expect(await page(session)).toMatchObject({ isSetUpAnswered: true, session: { status: 'open' } });
    }
    // The processor refuses one of two that set up the other card at the same time.
    await Promise.allSettled([resume(session), resume(session)]);
    expect(await page(session)).toMatchObject({ isSetUpAnswered: false, session: { status: 'complete' } });
  });

  it('is asked once for a request that is sent twice, also after the answer [D14.170]', async () => {
    const session = await setUp();
    const cards = await typed(asking);
    await Promise.allSettled([pay(session, cards), pay(session, cards)]);
    const asked = await askedOf(session);
    await pay(session, cards);
    expect(await askedOf(session)).toMatchObject({ processorSetupIntentId: asked?.processorSetupIntentId });
    await answer(session, true);
    expect((await pay(session, cards)).status).toBe('complete');
  });

  it('waits while the processor does not answer, and nothing is believed meanwhile [D14.170]', async () => {
    const session = await setUp();
    await pay(session, await typed(asking));
    await fixture.fault({ call: 'setup_intents.retrieve', kind: 'drop_after', times: 2 });
    expect((await resume(session)).status).toBe('open');
    expect(await page(session)).toMatchObject({
      paymentInFlight: true,
      isSetUpAnswered: false,
      clientSecret: undefined,
    });
    await fixture.clearFaults();
    await answer(session, true);
    expect((await resume(session)).status).toBe('complete');
  });

  it('is not asked where no shopper is there: the card is declined [D14.170]', async () => {
    const { customerId } = await fixture.card('credit');
    const card = await fixture.card('authentication_required', { customerId });
    const session = await fixture.session({ mode: 'setup', lines: [], customerId });
    const after = await completeWithCards(fixture.context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethod: card.id, secondPaymentMethod: undefined },
      ...{ shippingDetails: null, refusesHealthCards: false },
    });
    expect(after).toMatchObject({ status: 'open', nextAction: { errorCode: 'authentication_required' } });
    expect(await askedOf(session)).toBeUndefined();
  });

  it('is one question as a whole for the table too [D14.170]', async () => {
    const session = await setUp();
    await pay(session, await typed(asking));
    const asked = await askedOf(session);
    const half = fixture.test.admin('update checkout.setup_intents set asked_of = null where id = $1', [asked?.id]);
    await expect(half).rejects.toMatchObject({ constraint: 'setup_intents_asked_is_whole' });
  });
});
