import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { chargesByAmount, pay as payOnPage, sweepRounds } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const pay = (session: Session, ...cards: PaymentMethod[]) => payOnPage(fixture, session, cards);
const byAmount = (session: Session) => chargesByAmount(fixture, session);
// Until nothing is due any more.
const sweepAll = () => sweepRounds(fixture, 6);

describe('a session on the page that needs another card than was given', () => {
  it('refuses a health card as the second card, and takes another one then [D14.375]', async () => {
    const [hsa, fsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('fsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    const waiting = await pay(session, hsa);
    await expect(pay(session, fsa)).rejects.toMatchObject({ code: 'other_payment_method_required' });
    await expect(pay(session, hsa, fsa)).rejects.toMatchObject({ code: 'other_payment_method_required' });
    // The first request again, which gave nothing else.
    expect((await pay(session, hsa)).nextAction).toEqual(waiting.nextAction);
    expect(await byAmount(session)).toEqual([{ amount: 4_000, captured: 0, status: 'succeeded' }]);
    expect(await pay(session, credit)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('refuses two health cards at once, before anything is held, and takes the same card twice as one [D14.375]', async () => {
    const [hsa, fsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('fsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    await expect(pay(session, hsa, fsa)).rejects.toMatchObject({ code: 'other_payment_method_required' });
    expect(await byAmount(session)).toEqual([]);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.nextAction ?? null).toBeNull();
    expect((await pay(session, hsa, hsa)).nextAction).toMatchObject({ type: 'provide_second_payment_method' });
    expect(await pay(session, credit)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('says of one card that turns out to be a health card nothing of a second one [D14.374]', async () => {
    const card = await fixture.card('credit');
    const session = await fixture.session({ lines: [line({ unitAmount: 4_000 })] });
    const failpoint = async (name: string) => {
      if (name !== 'plan.reserved') return;
      await fixture.test.admin('update checkout.payment_methods set hsa_fsa = true where id = $1', [card.id]);
    };
    const { nextAction } = await completeSession({ ...fixture.context, failpoint }, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: [card.id], shippingDetails: null },
    });
    expect(nextAction).toMatchObject({
      type: 'payment_failed',
      errorCode: 'other_payment_method_required',
      message: expect.stringMatching(/^The card is, or may be, an HSA or FSA card/),
    });
    expect(await byAmount(session)).toEqual([]);
  });

  it('takes two health cards where one pays everything [D14.375]', async () => {
    const [hsa, fsa] = await Promise.all([fixture.card('hsa'), fixture.card('fsa')]);
    const session = await fixture.session({ lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' })] });
    expect(await pay(session, hsa, fsa)).toMatchObject({ status: 'complete', amountReceivedCents: 4_000 });
  });

  it.each([
    [0, 6_000, 'Nothing in this order is eligible for a health card. Use another card.'],
    [
      49,
      6_000,
      'Only $0.49 of this order is eligible for a health card, and no card can be charged less than $0.50. Pay the whole order with another card.',
    ],
    [
      6_000,
      49,
      'All but $0.49 of this order is eligible for a health card, and no card can be charged less than $0.50. Pay the whole order with another card.',
    ],
  ])(
    'says why a health card pays nothing of %i cents eligible and %i others [D14.375]',
    async (eligible, other, message) => {
      const hsa = await fixture.card('hsa');
      const session = await fixture.session({
        lines: [
          ...(eligible === 0 ? [] : [line({ unitAmount: eligible, class: 'auto_substantiation' })]),
          line({ unitAmount: other }),
        ],
      });
      const { nextAction } = await pay(session, hsa);
      expect(nextAction).toMatchObject({ type: 'provide_alternative_payment_method', message });
      expect(await byAmount(session)).toEqual([]);
    },
  );

  it('says that no card is left to try where the declines are used up before the second card is charged [D14.374]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    await pay(session, hsa);
    await fixture.test.admin(
      "update checkout.payment_plans set state = 'running', other_payment_method_id = $2, lease_until = now() where session_id = $1",
      [session.id, credit.id],
    );
    await fixture.test.admin('update checkout.sessions set declines_on_page = 20 where id = $1', [session.id]);
    await sweepAll();
    expect(await byAmount(session)).toEqual([{ amount: 4_000, captured: 0, status: 'succeeded' }]);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.nextAction).toMatchObject({
      type: 'payment_failed',
      errorCode: 'checkout_session_payment_tries_exceeded',
      message: 'Too many cards were declined for this session, and no card was charged. Create a new session.',
    });
  });

  it('keeps a cause with a plan that is released, and with no other plan, by the table alone [D14.374]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    await pay(session, hsa);
    const put = (set: string) =>
      fixture.test.admin(`update checkout.payment_plans set ${set} where session_id = $1`, [session.id]);
    await expect(put("release_cause = 'customer_not_found'")).rejects.toMatchObject({
      constraint: 'release_cause_of_released',
    });
    await expect(put("state = 'releasing', release_cause = 'a whim'")).rejects.toMatchObject({
      constraint: 'release_has_known_cause',
    });
  });
});
