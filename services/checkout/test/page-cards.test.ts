import { scoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachPaymentMethod } from '../src/actions/attach-payment-method.ts';
import { completeOnPage, completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { completedPage, readPage } from '../src/actions/read-page.ts';
import { hidesHealthCards } from '../src/domain/confirm-rules.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { pageMessage } from '../src/messages/page.ts';
import { findPageCard } from '../src/store/page-cards.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const pay = (session: Session, first?: string, second?: string, context = fixture.context) =>
  completeWithCards(context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second },
    ...{ slot: 'health', secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
const page = (session: Session) => readPage(fixture.context, fixture.scope, session.id);

const guest = () =>
  fixture.session({
    lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })],
  });
const notFound = { violations: [{ type: 'payment_method_not_found' }] };

describe('a card typed on the page of a session', () => {
  it('becomes a payment method and pays, also when the same request comes again or twice at once [D14.81]', async () => {
    const [first, second] = await Promise.all([fixture.typedCard('tok_hsa'), fixture.typedCard('tok_visa')]);
    const session = await guest();
    const answers = await Promise.allSettled([1, 2, 3].map(() => pay(session, first, second)));
    const paid = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.status] : []));
    expect(paid.length).toBeGreaterThanOrEqual(1);
    await expect(pay(session, first, second)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
    expect((await fixture.charges(session)).map(({ amount }) => amount).sort()).toEqual([4_000, 6_000]);
    const card = await findPageCard(fixture.database, fixture.scope, first);
    expect(card).toMatchObject({ sessionId: session.id });
    const method = await findPaymentMethod(fixture.database, fixture.scope, card?.paymentMethodId ?? '');
    expect(method).toMatchObject({ customerId: null, offSession: false, card: { last4: '0072', hsaFsa: true } });
  });

  it('pays no other session, and a card of a customer pays none, as if neither existed [D14.81]', async () => {
    const [own, other] = [await guest(), await guest()];
    const first = await fixture.typedCard('tok_hsa');
    await pay(own, first);
    await expect(pay(other, first)).rejects.toMatchObject(notFound);
    const { processorPaymentMethodId } = await fixture.card('hsa');
    await expect(pay(other, processorPaymentMethodId)).rejects.toMatchObject(notFound);
    await expect(pay(other, 'pm_missing000000000000000000')).rejects.toMatchObject(notFound);
    // The sandbox makes a new card of a ready one with each use, so that its name is no card.
    await expect(pay(other, 'pm_card_hsa')).rejects.toMatchObject(notFound);
    expect(await fixture.charges(other)).toEqual([]);
  });

  it('is not made a payment method once the session has ended', async () => {
    const session = await guest();
    await cancelSession(fixture.context, fixture.scope, session.id);
    const card = await fixture.typedCard('tok_visa');
    await expect(pay(session, card)).rejects.toMatchObject({ code: 'checkout_session_canceled' });
    expect(await findPageCard(fixture.database, fixture.scope, card)).toBeUndefined();
  });

  it('is kept for the customer where it is charged again, and for charges without the shopper [D14.36, D14.81]', async () => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId });
    const card = await fixture.typedCard('tok_visa');
    expect((await pay(session, card)).status).toBe('complete');
    const { paymentMethodId = '' } = (await findPageCard(fixture.database, fixture.scope, card)) ?? {};
    const method = await findPaymentMethod(fixture.database, fixture.scope, paymentMethodId);
    expect(method).toMatchObject({ customerId, offSession: true });
  });

  it('belongs to one session by the table alone: the role can neither move nor remove it [D14.81]', async () => {
    const session = await guest();
    const card = await fixture.typedCard('tok_visa');
    await pay(session, card);
    const own = 'where account_id = $1 and test_mode = $2';
    const move = scoped('test.move', `update checkout.page_cards set session_id = session_id ${own}`);
    const remove = scoped('test.remove', `delete from checkout.page_cards ${own}`);
    for (const change of [move, remove]) {
      const bypassed = withTx(fixture.database, fixture.scope, (tx) => tx.execute(change, fixture.scope));
      await expect(bypassed).rejects.toThrow('permission denied');
    }
  });
});

describe('the page of an account that takes no health cards', () => {
  it('has no part for one, of a sale and of the renewal after a trial [D14.72]', async () => {
    const { customerId } = await fixture.card('credit');
    const lines = [
      line({ unitAmount: 4_000, class: 'auto_substantiation', recurring: true }),
      line({ unitAmount: 6_000, recurring: true }),
    ];
    const subscription = {
      mode: 'subscription',
      lines,
      customerId,
      subscriptionData: { trialPeriodDays: 14 },
    } as const;
    const [sale, trial] = await Promise.all([guest(), fixture.session(subscription)]);
    const shown = async ({ id }: Session, refusesHealthCards: boolean) => {
      const read = await readPage(fixture.context, fixture.scope, id, { refusesHealthCards });
      const {
        healthCardCents,
        renewalHealthCardCents,
        refusesHealthCards: isRefused,
      } = pageMessage(fixture.scope, read);
      return { healthCardCents, renewalHealthCardCents, isRefused };
    };
    const none = { healthCardCents: 0n, renewalHealthCardCents: undefined };
    expect(await shown(sale, false)).toEqual({ ...none, healthCardCents: 4_000n, isRefused: false });
    expect(await shown(sale, true)).toEqual({ ...none, isRefused: true });
    expect(await shown(trial, false)).toEqual({ ...none, renewalHealthCardCents: 4_000n, isRefused: false });
    expect(await shown(trial, true)).toEqual({ ...none, renewalHealthCardCents: 0n, isRefused: true });
  });
});

it('a page is told that no health card is taken only by a caller that knows how its account substantiates [D14.72]', () => {
  const said = (caller: Partial<Parameters<typeof hidesHealthCards>[0]>) =>
    hidesHealthCards({ testMode: false, substantiation: '', knowsSubstantiation: true, ...caller });
  expect(said({})).toBe(true);
  // A gateway of the release before.
  expect(said({ knowsSubstantiation: false })).toBe(false);
  expect(said({ substantiation: 'iias' })).toBe(false);
  expect(said({ testMode: true })).toBe(false);
});

describe('a payment on the page', () => {
  const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' };
  const terms = { shippingCountries: ['US'], termsAccepted: true };
  const complete = (
    session: Session,
    given: Partial<Parameters<typeof completeOnPage>[2]>,
    of: Partial<typeof terms>,
  ) =>
    completeOnPage(
      fixture.context,
      fixture.scope,
      {
        ...{ sessionId: session.id, paymentMethod: undefined, secondPaymentMethod: undefined, slot: 'other' },
        ...{ shippingDetails: null, onPage: true, refusesHealthCards: false, ...given },
      },
      { ...terms, ...of },
    );
  const missingOf = async (...given: Parameters<typeof complete>) => {
    const failure = await complete(...given).catch((error: unknown) => error);
    return (failure as { violations?: { loc: string[]; type: string }[] }).violations?.map(
      ({ loc, type }) => `${loc.join('.')} ${type}`,
    );
  };

  it('is refused before anything is charged without what its page asks for [D14.82, D14.167, D14.174]', async () => {
    const session = await fixture.session({
      lines: [line({ unitAmount: 6_000 })],
      shippingAddressCollection: true,
      allowPromotionCodes: true,
      customText: { termsOfServiceCheckboxRequired: true },
    });
    const paymentMethod = await fixture.typedCard('tok_visa');
    const shownSplit = (await page(session)).splitVersion ?? '';
    expect(await missingOf(session, {}, { termsAccepted: false })).toEqual([
      'body.cards missing',
      'body.shipping_details missing',
      'body.terms_accepted missing',
      'body.shown_split missing',
    ]);
    const given = { paymentMethod, shownSplit };
    const abroad = { ...address, state: '', postalCode: '', country: 'HK' };
    expect(await missingOf(session, { ...given, shippingDetails: abroad }, {})).toEqual([
      'body.shipping_details.country not_allowed',
    ]);
    expect(await missingOf(session, { ...given, shippingDetails: { ...abroad, country: 'US' } }, {})).toEqual([
      'body.shipping_details.state missing',
      'body.shipping_details.postal_code missing',
    ]);
    expect(await fixture.charges(session)).toEqual([]);
    const shippingCountries = ['US', 'HK'];
    const paid = await complete(session, { ...given, shippingDetails: abroad }, { shippingCountries });
    expect(paid.session).toMatchObject({ status: 'complete', shippingDetails: { line1: '1 Main St', country: 'HK' } });
    // What has ended says so, whatever is missing.
    await expect(complete(session, {}, {})).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
  });

  it('needs no address where the shop gave one, and takes one of the same country [D14.174]', async () => {
    const shippingDetails = { ...address, country: 'CA' };
    const parts = { lines: [line({ unitAmount: 6_000 })], shippingAddressCollection: true, shippingDetails };
    for (const given of [null, { ...shippingDetails, line1: '2 Main St' }]) {
      const session = await fixture.session(parts);
      const paymentMethod = await fixture.typedCard('tok_visa');
      const paid = await complete(session, { paymentMethod, shippingDetails: given }, {});
      expect(paid.session).toMatchObject({ status: 'complete', shippingDetails: given ?? shippingDetails });
    }
  });

  it('needs a card where nothing is due at once but a card is saved [D14.82]', async () => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId });
    expect(await missingOf(session, {}, {})).toEqual(['body.cards missing']);
  });

  it.each([
    ['two cards', ['tok_hsa', 'tok_visa']],
    ['one card', ['tok_visa']],
  ])('that is over with %s shows what the page is read as afterwards [D14.82]', async (_what, tokens) => {
    const session = await guest();
    const [paymentMethod, secondPaymentMethod] = await Promise.all(tokens.map((token) => fixture.typedCard(token)));
    const slots = tokens[1] === undefined ? {} : ({ slot: 'health', secondSlot: 'other' } as const);
    const paid = await complete(session, { paymentMethod, secondPaymentMethod, ...slots }, {});
    expect(paid.session.status).toBe('complete');
    const { lines = [] } = paid;
    const shown = completedPage(fixture.context, fixture.scope, paid.session, lines, false);
    const read = await page(session);
    expect(pageMessage(fixture.scope, shown)).toEqual(pageMessage(fixture.scope, read));
  });
});

describe('what the page shows', () => {
  it('is what a health card pays and another card pays, and whose card fields it uses [D14.82]', async () => {
    const session = await guest();
    expect(await page(session)).toMatchObject({
      ...{ dueNowCents: 10_000, healthCardCents: 4_000, paymentInFlight: false, timeOver: false, trialEnd: null },
      cardFields: { processor: 'sandbox', account: expect.stringMatching(/^acct_/) },
      lines: [{ amountTotalCents: 4_000 }, { amountTotalCents: 6_000 }],
    });
  });

  it('is nothing due while a trial begins [D14.82]', async () => {
    const session = await fixture.session({
      mode: 'subscription',
      lines: [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })],
      subscriptionData: { trialPeriodDays: 14 },
    });
    expect(await page(session)).toMatchObject({ dueNowCents: 0, healthCardCents: 0, trialEnd: expect.any(Date) });
  });

  it('says that a payment is in flight until its outcome is in the session [D14.82]', async () => {
    const session = await guest();
    const [first, second] = await Promise.all([fixture.typedCard('tok_hsa'), fixture.typedCard('tok_visa')]);
    const answered = Promise.withResolvers<void>();
    const waiting = fixture.contextWith((port) => ({
      async confirmIntent(...call) {
        const answer = await port.confirmIntent(...call);
        await answered.promise;
        return answer;
      },
    }));
    const paying = pay(session, first, second, waiting);
    await fixture.sending(session);
    expect((await page(session)).paymentInFlight).toBe(true);
    await expect(pay(session, first, second)).rejects.toMatchObject({ code: 'lock_timeout' });
    answered.resolve();
    expect((await paying).status).toBe('complete');
    const after = await page(session);
    expect([after.paymentInFlight, after.session.status]).toEqual([false, 'complete']);
  });

  it('is not in flight while a held health card waits for a second card', async () => {
    const session = await guest();
    await pay(session, await fixture.typedCard('tok_hsa'));
    const waiting = await page(session);
    expect(waiting.paymentInFlight).toBe(false);
    expect(waiting.session.nextAction).toMatchObject({ type: 'provide_second_payment_method' });
  });

  it('is another account’s or mode’s to nobody', async () => {
    const session = await guest();
    for (const scope of [
      { ...fixture.scope, testMode: false },
      { ...fixture.scope, accountId: newId('account') },
    ])
      await expect(readPage(fixture.context, scope, session.id)).rejects.toMatchObject({
        code: 'checkout_session_not_found',
      });
  });
});

describe('a card as a confirmation token of the processor’s fields', () => {
  const methodOf = async (token: string) => {
    const card = await findPageCard(fixture.database, fixture.scope, token);
    return findPaymentMethod(fixture.database, fixture.scope, card?.paymentMethodId ?? '');
  };
  const atProcessor = async (id = '') => fixture.context.processors.of(fixture.scope).retrievePaymentMethod(id);

  it('pays once, however often it is sent, and becomes the payment method that paid [D14.110]', async () => {
    const tokens = await Promise.all([fixture.confirmationToken('tok_hsa'), fixture.confirmationToken('tok_visa')]);
    const session = await guest();
    await Promise.allSettled([1, 2, 3].map(() => pay(session, ...tokens)));
    await expect(pay(session, ...tokens)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
    expect((await fixture.charges(session)).map(({ amount }) => amount).sort()).toEqual([4_000, 6_000]);
    const [health, other] = await Promise.all(tokens.map(methodOf));
    expect(health).toMatchObject({
      customerId: null,
      card: { last4: '0072', hsaFsa: true, hsaFsaSource: 'processor' },
    });
    expect(other).toMatchObject({ card: { last4: '4242', hsaFsa: false } });
    expect(await atProcessor(health?.processorPaymentMethodId)).toMatchObject({ kind: 'found', customerId: undefined });
  });

  it('is charged once when the answer to its confirmation is lost [D14.110]', async () => {
    const session = await guest();
    const tokens = await Promise.all([fixture.confirmationToken('tok_hsa'), fixture.confirmationToken('tok_visa')]);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    expect((await pay(session, ...tokens)).status).toBe('open');
    for (let round = 0; round < 4; round++) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
    expect((await page(session)).session.status).toBe('complete');
    expect((await fixture.charges(session)).map(({ amount }) => amount).sort()).toEqual([4_000, 6_000]);
    expect((await methodOf(tokens[0] ?? ''))?.processorPaymentMethodId).toMatch(/^pm_/);
  });

  it('pays no other session, and neither does one that was used or does not exist [D14.81, D14.110]', async () => {
    const [own, other] = [await guest(), await guest()];
    const token = await fixture.confirmationToken('tok_hsa');
    await pay(own, token);
    await expect(pay(other, token)).rejects.toMatchObject(notFound);
    await expect(pay(other, 'ctoken_missing00000000000000')).rejects.toMatchObject(notFound);
    const used = await fixture.confirmationToken('tok_visa');
    const processor = fixture.context.processors.of(fixture.scope);
    const made = await processor.createSetupIntent({}, { idempotencyKey: newId('request') });
    if (!('setupIntentId' in made)) throw new Error(`The sandbox answered ${made.kind}`);
    const confirming = { confirmationToken: used };
    await processor.confirmSetupIntent(made.setupIntentId, confirming, { idempotencyKey: newId('request') });
    await expect(pay(other, used)).rejects.toMatchObject(notFound);
    expect(await fixture.charges(other)).toEqual([]);
  });

  it('that was declined is never charged or kept by the API [D14.110]', async () => {
    const session = await guest();
    const token = await fixture.confirmationToken('tok_hsaDeclined');
    expect((await pay(session, token)).nextAction).toMatchObject({ type: 'payment_failed' });
    const method = await methodOf(token);
    const { customerId } = await fixture.card('hsa');
    const context = { ...fixture.context, processors: fixture.context.processors };
    await expect(attachPaymentMethod(context, fixture.scope, method?.id ?? '', customerId)).rejects.toMatchObject({
      code: 'conflict',
    });
    if (method === undefined) throw new Error('The card is not stored');
    await expect(fixture.confirm(await guest(), method)).rejects.toMatchObject({ code: 'payment_method_not_found' });
  });

  const recurring = [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })];
  const once = [line({ unitAmount: 2_500, class: 'auto_substantiation' })];
  it.each([
    ['a subscription', { mode: 'subscription', lines: recurring }, [2_500]],
    [
      'a subscription that begins with a trial',
      { mode: 'subscription', lines: recurring, subscriptionData: { trialPeriodDays: 14 } },
      [],
    ],
    ['a payment with setup_future_use', { lines: once, setupFutureUse: 'off_session' }, [2_500]],
    ['a set-up', { mode: 'setup', lines: [] }, []],
  ] as const)(
    'is attached to the customer by %s, and only once that has succeeded [D14.111]',
    async (_name, parts, paid) => {
      const { customerId } = await fixture.card('credit');
      const sell = () => fixture.session({ ...parts, lines: [...parts.lines], customerId });
      const [declined, session] = [await sell(), await sell()];
      const refused = await fixture.confirmationToken('tok_chargeDeclined');
      expect((await pay(declined, refused)).nextAction).toMatchObject({ type: 'payment_failed' });
      expect(await methodOf(refused)).toMatchObject({ customerId: null, processorPaymentMethodId: refused });
      const token = await fixture.confirmationToken('tok_visa');
      expect((await pay(session, token)).status).toBe('complete');
      const kept = await methodOf(token);
      expect(kept).toMatchObject({ customerId, offSession: true });
      const { processorCustomerId, processorPaymentMethodId } = kept ?? {};
      expect(await atProcessor(processorPaymentMethodId)).toMatchObject({ customerId: processorCustomerId });
      expect((await fixture.charges(session)).map(({ amount }) => amount)).toEqual(paid);
    },
  );
});
