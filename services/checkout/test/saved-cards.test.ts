import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { cardUseOf, type Session } from '../src/domain/session.ts';
import { findPageCard } from '../src/store/page-cards.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

/** A payment on the page, and what each of its calls says of the card: whether an intent keeps it, and whether its shopper is there. */
function watching() {
  const said: string[] = [];
  const context = fixture.contextWith((port) => ({
    createIntent(input, call) {
      said.push(input.keepsCardFor === undefined ? 'intent' : `intent keeps ${input.keepsCardFor}`);
      return port.createIntent(input, call);
    },
    confirmIntent(id, input, call) {
      said.push(input.offSession ? 'without the shopper' : 'with the shopper');
      return port.confirmIntent(id, input, call);
    },
    createSetupIntent(input, call) {
      said.push('set-up');
      return port.createSetupIntent(input, call);
    },
  }));
  const pay = (session: Session, ...[first, second]: string[]) =>
    completeWithCards(context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second },
      ...{ slot: 'health', secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
    });
  return { said, context, pay };
}
const tokens = () =>
  Promise.all([fixture.confirmationToken('tok_hsa'), fixture.confirmationToken('tok_visa')] as const);
const mixed = [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
const recurring = mixed.map((one, index) =>
  index === 0 ? line({ unitAmount: 4_000, class: 'auto_substantiation', recurring: true }) : one,
);

async function methodOf(token: string) {
  const { paymentMethodId = '' } = (await findPageCard(fixture.database, fixture.scope, token)) ?? {};
  const method = await findPaymentMethod(fixture.database, fixture.scope, paymentMethodId);
  if (method === undefined) throw new Error('The card is not stored');
  return method;
}
const ownerAtProcessor = async (id: string) => {
  const found = await fixture.context.processors.of(fixture.scope).retrievePaymentMethod(id);
  return found.kind === 'found' ? found.customerId : found.kind;
};

describe('a card that is typed on the page', () => {
  it.each([
    ['a subscription', { mode: 'subscription', lines: recurring }, 'complete'],
    ['a payment with setup_future_use', { lines: mixed, setupFutureUse: 'off_session' }, 'complete'],
    ['a hold with setup_future_use', { lines: mixed, setupFutureUse: 'off_session', captureMethod: 'manual' }, 'paid'],
  ] as const)(
    'is kept by the intent that charges it, each of two: %s [D14.36, D14.111]',
    async (_what, parts, status) => {
      const { customerId } = await fixture.card('credit');
      const session = await fixture.session({ ...parts, lines: [...parts.lines], customerId });
      const { said, pay } = watching();
      const given = await tokens();
      expect(await pay(session, ...given)).toMatchObject({ status });
      expect(said).toEqual([
        'intent keeps off_session',
        'with the shopper',
        'intent keeps off_session',
        'with the shopper',
      ]);
      for (const method of await Promise.all(given.map(methodOf))) {
        expect(method).toMatchObject({ customerId, offSession: true });
        expect(await ownerAtProcessor(method.processorPaymentMethodId)).toBe(method.processorCustomerId);
      }
    },
  );

  it('is kept for payments with the shopper alone by setup_future_use on_session, and charged by nothing else [D14.307]', async () => {
    const { customerId } = await fixture.card('credit');
    const session = await fixture.session({ lines: mixed, setupFutureUse: 'on_session', customerId });
    const { said, pay } = watching();
    const given = await tokens();
    expect(await pay(session, ...given)).toMatchObject({ status: 'complete' });
    expect(said).toEqual([
      'intent keeps on_session',
      'with the shopper',
      'intent keeps on_session',
      'with the shopper',
    ]);
    for (const method of await Promise.all(given.map(methodOf))) {
      expect(method).toMatchObject({ customerId, offSession: false });
      expect(await ownerAtProcessor(method.processorPaymentMethodId)).toBe(method.processorCustomerId);
      const refused = { code: 'payment_method_not_off_session' };
      await expect(fixture.confirm(await fixture.session({ lines: mixed, customerId }), method)).rejects.toMatchObject(
        refused,
      );
      await expect(
        fixture.session({ lines: mixed, mode: 'off_session', customerId, paymentMethodId: method.id }),
      ).rejects.toMatchObject(refused);
    }
  });

  it.each([
    ['a payment', { lines: mixed, setupFutureUse: 'on_session' }, false],
    [
      'a subscription, which renews with it',
      { mode: 'subscription', lines: recurring, setupFutureUse: 'on_session' },
      true,
    ],
  ])(
    'is charged off-session later only if its session asks for that, also of a test helper: %s [D14.307]',
    async (_what, parts, offSession) => {
      const { customerId } = await fixture.card('credit');
      const session = await fixture.session({ ...parts, customerId });
      await completeWithCards(fixture.context, fixture.scope, {
        ...{ sessionId: session.id, paymentMethod: 'credit', secondPaymentMethod: undefined, shippingDetails: null },
        refusesHealthCards: false,
      });
      const stored = await fixture.test.admin<{ off_session: boolean }>(
        `select m.off_session from checkout.payment_methods m join checkout.payment_intents i on i.payment_method_id = m.id
       where i.session_id = $1`,
        [session.id],
      );
      expect(stored).toEqual([{ off_session: offSession }]);
    },
  );

  it.each([
    [{ mode: 'payment', setupFutureUse: 'on_session', letterRequired: false }, 'on_session'],
    [{ mode: 'payment', setupFutureUse: 'off_session', letterRequired: false }, 'off_session'],
    [{ mode: 'reimbursement', setupFutureUse: 'on_session', letterRequired: true }, 'on_session'],
    // The review may outlast the hold.
    [{ mode: 'payment', setupFutureUse: 'on_session', letterRequired: true }, 'off_session'],
    [{ mode: 'payment', setupFutureUse: null, letterRequired: true }, 'off_session'],
    [{ mode: 'subscription', setupFutureUse: 'on_session', letterRequired: false }, 'off_session'],
  ] as const)('is kept of %o for %s [D14.307]', (session, use) => {
    expect(cardUseOf(session)).toBe(use);
  });

  it('pays once and is not kept where the session asks for nothing, also with a customer [D14.36]', async () => {
    const { customerId } = await fixture.card('credit');
    const { said, pay } = watching();
    const given = await tokens();
    expect(await pay(await fixture.session({ lines: mixed, customerId }), ...given)).toMatchObject({
      status: 'complete',
    });
    expect(said).toEqual(['intent', 'with the shopper', 'intent', 'with the shopper']);
    for (const method of await Promise.all(given.map(methodOf))) {
      expect(method).toMatchObject({ customerId: null, offSession: false });
      expect(await ownerAtProcessor(method.processorPaymentMethodId)).toBeUndefined();
    }
  });

  it('is set up, and not charged, by a set-up and a trial [D14.111]', async () => {
    const { customerId } = await fixture.card('credit');
    const trial = { mode: 'subscription', lines: recurring.slice(0, 1), subscriptionData: { trialPeriodDays: 14 } };
    for (const parts of [{ mode: 'setup', lines: [] }, trial]) {
      const { said, pay } = watching();
      const [token] = await tokens();
      expect(await pay(await fixture.session({ ...parts, customerId }), token)).toMatchObject({ status: 'complete' });
      expect(said).toEqual(['set-up']);
      expect(await methodOf(token)).toMatchObject({ customerId, offSession: true });
    }
  });

  it('that was kept is charged later without its owner, as such; one that needs its owner is declined [D14.111]', async () => {
    const { customerId } = await fixture.card('credit');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId });
    const { said, context, pay } = watching();
    const [token] = await tokens();
    await pay(session, token);
    const kept = await methodOf(token);
    said.length = 0;
    const later = await fixture.session({ lines: mixed, customerId });
    expect((await fixture.confirm(later, kept, {}, context)).session).toMatchObject({ status: 'complete' });
    expect(said).toEqual(['intent', 'without the shopper']);
    const asking = await fixture.card('authentication_required', { customerId });
    const refused = await fixture.session({ lines: mixed, customerId });
    await expect(fixture.confirm(refused, asking)).rejects.toMatchObject({ code: 'authentication_required' });
  });

  it.each([
    ['a set-up', { mode: 'setup', lines: [] }, null],
    ['a payment with setup_future_use', { lines: mixed.slice(0, 1), setupFutureUse: 'off_session' }, /^\d{15}$/],
    [
      'a hold with setup_future_use',
      { lines: mixed.slice(0, 1), setupFutureUse: 'off_session', captureMethod: 'manual' },
      /^\d{15}$/,
    ],
  ] as const)(
    'has the mandate of %s, which goes with charges without its owner and with no other [D14.239]',
    async (_what, parts, network) => {
      const { customerId } = await fixture.card('credit');
      const { pay } = watching();
      const [token] = await tokens();
      await pay(await fixture.session({ ...parts, lines: [...parts.lines], customerId }), token);
      const kept = await methodOf(token);
      const [stored] = await fixture.test.admin<{ mandate: string; network: string | null }>(
        'select mandate_id as mandate, network_transaction_id as network from checkout.payment_methods where id = $1',
        [kept.id],
      );
      expect(stored).toEqual({
        mandate: expect.stringMatching(/^mandate_/),
        network: network === null ? null : expect.stringMatching(network),
      });
      const sent: (string | undefined)[] = [];
      const context = fixture.contextWith((port) => ({
        confirmIntent(id, input, call) {
          sent.push(input.mandate);
          return port.confirmIntent(id, input, call);
        },
      }));
      const later = await fixture.session({ lines: mixed, customerId });
      await fixture.confirm(later, kept, {}, context);
      const charged = await chargeInvoice(context, fixture.scope, {
        ...{ operationId: newId('charge_attempt'), invoiceId: newId('invoice'), subscriptionId: newId('subscription') },
        ...{ customerId, paymentMethodId: kept.id, leg: 'health', amountCents: cents(4_000), at: new Date() },
      });
      expect(charged).toMatchObject({ outcome: 'succeeded' });
      const other = await fixture.card('credit', { customerId });
      await fixture.confirm(await fixture.session({ lines: mixed, customerId }), other, {}, context);
      expect(sent).toEqual([stored?.mandate, stored?.mandate, undefined]);
    },
  );

  it('stays with its customer when the hold that kept it is voided [D14.36]', async () => {
    const { customerId } = await fixture.card('credit');
    const { pay } = watching();
    const [hsa] = await tokens();
    const terms = { lines: mixed.slice(0, 1), setupFutureUse: 'off_session', captureMethod: 'manual', customerId };
    const session = await pay(await fixture.session(terms), hsa);
    expect(session).toMatchObject({ status: 'paid' });
    await cancelSession(fixture.context, fixture.scope, session.id);
    expect(await methodOf(hsa)).toMatchObject({ customerId });
  });
});
