import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const complete = (session: Session, paymentMethod: string, secondPaymentMethod?: string) =>
  completeWithCards(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod, secondPaymentMethod, shippingDetails: null, refusesHealthCards: false },
  });
const notFound = (field: string, id: string) => ({
  violations: [
    {
      loc: ['body', 'checkout_session', field],
      type: 'payment_method_not_found',
      msg: `payment_method_not_found: ${id}`,
    },
  ],
});
const nothingCharged = async (session: Session) => {
  expect(await fixture.charges(session)).toEqual([]);
  expect(await loadSession(fixture.database, fixture.scope, session.id)).toEqual(session);
};

describe('a card that is named where a session is completed in test mode', () => {
  it('of another customer is answered like one that is not there, in either place, and nothing is charged [RUN-3, D14.17, D14.395]', async () => {
    const [own, stranger] = [await fixture.card('hsa'), await fixture.card('credit')];
    const session = await fixture.mixedSession(own);
    await expect(complete(session, stranger.id)).rejects.toMatchObject(notFound('payment_method', stranger.id));
    await expect(complete(session, own.id, stranger.id)).rejects.toMatchObject(
      notFound('second_payment_method', stranger.id),
    );
    await nothingCharged(session);
    const second = await fixture.card('credit', { customerId: own.customerId });
    expect((await complete(session, own.id, second.id)).status).toBe('complete');
  });

  it('of another customer does not become the card of a subscription [D14.395]', async () => {
    const [own, stranger] = [await fixture.card('credit'), await fixture.card('credit')];
    const session = await fixture.session({
      ...{ mode: 'subscription', customerId: own.customerId, lines: [line({ unitAmount: 4_000, recurring: true })] },
      subscriptionData: { trialPeriodDays: 14 },
    });
    await expect(complete(session, stranger.id)).rejects.toMatchObject(notFound('payment_method', stranger.id));
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toEqual(session);
    expect((await complete(session, own.id)).status).toBe('complete');
  });

  it('of the other mode or another account is not there [D14.395]', async () => {
    const own = await fixture.card('credit');
    const session = await fixture.mixedSession(own);
    for (const other of [{ test_mode: false }, { account_id: newId('account') }]) {
      const id = newId('payment_method');
      await fixture.test.admin(
        `insert into checkout.payment_methods
         select (jsonb_populate_record(null::checkout.payment_methods, to_jsonb(m) || $2::jsonb)).* from checkout.payment_methods m where m.id = $1`,
        [own.id, JSON.stringify({ ...other, id, customer_id: null, processor_payment_method_id: `pm_${id}` })],
      );
      await expect(complete(session, id)).rejects.toMatchObject(notFound('payment_method', id));
    }
    await nothingCharged(session);
  });

  it('of a customer does not become the second card of another one that the session makes [D14.395]', async () => {
    const stranger = await fixture.card('credit');
    const terms = { customerId: null, card: 'hsa', cardLoc: [], offSession: true };
    const ownerless = await createTestPaymentMethod(fixture.context, fixture.scope, terms);
    const session = await fixture.session({
      mode: 'subscription',
      lines: [
        line({ unitAmount: 4_000, recurring: true, class: 'auto_substantiation' }),
        line({ unitAmount: 6_000, recurring: true }),
      ],
    });
    for (const first of [ownerless.id, 'hsa']) {
      await expect(complete(session, first, stranger.id)).rejects.toMatchObject(
        notFound('second_payment_method', stranger.id),
      );
    }
    await nothingCharged(session);
    expect((await complete(session, 'hsa', 'credit')).status).toBe('complete');
  });

  it('of a customer pays beside one without, where the session keeps no card [D14.395]', async () => {
    const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
    const session = await fixture.session({ lines });
    expect((await complete(session, 'hsa', (await fixture.card('credit')).id)).status).toBe('complete');
  });

  it('of any customer pays a session without one, and a second card of another customer does not [D14.395]', async () => {
    const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
    const [health, stranger] = [await fixture.card('hsa'), await fixture.card('credit')];
    const session = await fixture.session({ lines });
    await expect(complete(session, health.id, stranger.id)).rejects.toMatchObject(
      notFound('second_payment_method', stranger.id),
    );
    await nothingCharged(session);
    expect((await complete(session, health.id, 'credit')).status).toBe('complete');
  });
});
