import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
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

describe('the checkout page with two cards', () => {
  it('puts the eligible amount on the health card and the remainder on the other, and completes [RUN-3]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    const paid = await pay(session, hsa, credit);
    expect(paid).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(paid.paymentIntentIds).toHaveLength(2);
    expect(await byAmount(session)).toEqual([
      { amount: 4_000, captured: 4_000, status: 'succeeded' },
      { amount: 6_000, captured: 6_000, status: 'succeeded' },
    ]);
  });

  it('voids the health card’s hold when the other card is declined, says so, and accepts another try', async () => {
    const [hsa, declined, credit] = await Promise.all([
      fixture.card('hsa'),
      fixture.card('declined'),
      fixture.card('credit'),
    ]);
    const session = await fixture.mixedSession(hsa);
    const refused = await pay(session, hsa, declined);
    expect(refused).toMatchObject({ status: 'open', amountReceivedCents: 0 });
    expect(refused.nextAction).toMatchObject({ type: 'payment_failed', errorCode: 'card_declined' });
    expect((await byAmount(session)).every((charge) => charge.captured === 0)).toBe(true);
    expect(await pay(session, hsa, credit)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('holds the eligible part and asks for a second card when a health card comes alone [D13.4]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    const waiting = await pay(session, hsa);
    expect(waiting.status).toBe('open');
    expect(waiting.nextAction).toMatchObject({
      type: 'provide_second_payment_method',
      eligibleAmountCents: 4_000,
      ineligibleAmountCents: 6_000,
    });
    expect(await byAmount(session)).toEqual([{ amount: 4_000, captured: 0, status: 'succeeded' }]);
    expect(await pay(session, credit)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await byAmount(session)).toHaveLength(2);
  });

  it('voids that hold after an hour [D13.4]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    await pay(session, hsa);
    await fixture.test.admin(
      "update checkout.payment_plans set release_at = now() - interval '1 second' where session_id = $1",
      [session.id],
    );
    await sweepAll();
    const [intent] = await fixture.test.admin<{ status: string }>(
      'select status from checkout.payment_intents where session_id = $1',
      [session.id],
    );
    expect(intent?.status).toBe('canceled');
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.status).toBe('open');
  });

  it('voids holds when the session is canceled', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    await pay(session, hsa);
    expect((await cancelSession(fixture.context, fixture.scope, session.id)).status).toBe('canceled');
    await sweepAll();
    const [intent] = await fixture.test.admin<{ status: string }>(
      'select status from checkout.payment_intents where session_id = $1',
      [session.id],
    );
    expect(intent?.status).toBe('canceled');
  });

  it('is canceled by its shopper while a hold waits for a second card, and not once the cards are authorized [D14.82]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const cancelOnPage = ({ id }: Session) => cancelSession(fixture.context, fixture.scope, id, { by: 'shopper' });
    const waiting = await fixture.mixedSession(hsa);
    expect((await pay(waiting, hsa)).nextAction?.type).toBe('provide_second_payment_method');
    expect((await cancelOnPage(waiting)).status).toBe('canceled');
    const letter = {
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })],
    };
    for (const parts of [{ captureMethod: 'manual' as const }, letter]) {
      const held = await fixture.mixedSession(hsa, parts);
      expect((await pay(held, hsa, credit)).status).toBe('paid');
      await expect(cancelOnPage(held)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
      expect((await byAmount(held)).every(({ status }) => status === 'succeeded')).toBe(true);
      expect((await loadSession(fixture.database, fixture.scope, held.id))?.status).toBe('paid');
    }
  });

  it('holds both cards while a letter is pending', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.session({
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })],
    });
    expect(await pay(session, hsa, credit)).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
    expect((await byAmount(session)).map((charge) => charge.captured)).toEqual([0, 0]);
  });

  it('only holds what the shop captures by itself, and a confirm of it is refused', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const [paged, confirmed] = await Promise.all(
      [1, 2].map(() => fixture.mixedSession(hsa, { captureMethod: 'manual' })),
    );
    if (!paged || !confirmed) throw new Error('two sessions');
    expect(await pay(paged, hsa, credit)).toMatchObject({ status: 'paid', amountReceivedCents: 0, nextAction: null });
    expect((await byAmount(paged)).map((charge) => charge.captured)).toEqual([0, 0]);
    await expect(fixture.confirm(confirmed, hsa)).rejects.toMatchObject({ code: 'manual_capture_not_supported' });
    expect(await fixture.charges(confirmed)).toEqual([]);
  });

  it('only holds both cards when the second one comes later, too: nothing is captured that waits for a letter or for the shop [D14.50]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const letter = await fixture.session({
      lines: [line({ unitAmount: 4_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 6_000 })],
    });
    const manual = await fixture.mixedSession(hsa, { captureMethod: 'manual' });
    for (const session of [letter, manual]) {
      expect((await pay(session, hsa)).nextAction?.type).toBe('provide_second_payment_method');
      expect(await pay(session, credit)).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
      expect((await byAmount(session)).map((charge) => charge.captured)).toEqual([0, 0]);
    }
  });

  it('asks for no letter where an ordinary card pays everything', async () => {
    const credit = await fixture.card('credit');
    const session = await fixture.session({
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
      captureMethod: 'manual',
    });
    expect(await pay(session, credit)).toMatchObject({ status: 'paid', nextAction: null });
  });

  it('puts nothing ineligible on a health card', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.session({ lines: [line({ unitAmount: 2_000 })], customerId: hsa.customerId });
    expect((await pay(session, hsa)).nextAction?.type).toBe('provide_alternative_payment_method');
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('lets an ordinary card pay everything', async () => {
    const credit = await fixture.card('credit');
    const session = await fixture.mixedSession(credit);
    expect(await pay(session, credit)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await byAmount(session)).toEqual([{ amount: 10_000, captured: 10_000, status: 'succeeded' }]);
  });

  it.each(['payment_intents.confirm', 'payment_intents.capture', 'payment_intents.create'])(
    'converges to one charge a card when an answer of %s is lost',
    async (call) => {
      for (const kind of ['drop_after', 'error_before']) {
        const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
        const session = await fixture.mixedSession(hsa);
        await fixture.fault({ call, kind, times: 1 });
        const first = await pay(session, hsa, credit);
        await sweepAll();
        const settled = await loadSession(fixture.database, fixture.scope, session.id);
        // An attempt that was never sent is given up, and the plan begins it anew.
        expect([first.status, settled?.status]).toContain('complete');
        expect((await byAmount(session)).map((charge) => charge.captured)).toEqual([4_000, 6_000]);
      }
    },
  );

  it('lets two payments of one session at once charge it once', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    const answers = await Promise.allSettled([1, 2, 3, 4].map(() => pay(session, hsa, credit)));
    expect(answers.some((answer) => answer.status === 'fulfilled')).toBe(true);
    expect((await byAmount(session)).map((charge) => charge.captured)).toEqual([4_000, 6_000]);
  });

  it('leaves nothing that a shopper could still authenticate when a card needed it and was refused', async () => {
    const card = await fixture.card('authentication_required');
    const session = await fixture.mixedSession(card);
    expect(await pay(session, card)).toMatchObject({
      status: 'open',
      nextAction: { type: 'payment_failed', errorCode: 'authentication_required' },
    });
    const [attempt] = await fixture.test.admin<{ processor_intent_id: string; status: string }>(
      'select processor_intent_id, status from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    expect(attempt?.status).toBe('declined');
    const processor = fixture.context.processors.of(fixture.scope);
    expect(await processor.retrieveIntent(attempt?.processor_intent_id ?? '')).toMatchObject({ kind: 'canceled' });
  });

  it('refuses a card that does not exist at its place in the body', async () => {
    const session = await fixture.mixedSession(await fixture.card('hsa'));
    const payment = { sessionId: session.id, paymentMethodIds: [newId('payment_method')], shippingDetails: null };
    await expect(completeSession(fixture.context, fixture.scope, payment)).rejects.toMatchObject({
      violations: [
        expect.objectContaining({
          loc: ['body', 'checkout_session', 'payment_method'],
          type: 'payment_method_not_found',
        }),
      ],
    });
  });
});

describe('a session in another mode', () => {
  it('tells of the hold that is captured, with the charge as it then is', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await pay(await fixture.mixedSession(hsa), hsa, credit);
    const told = await fixture.test.admin<{ payload: Uint8Array }>(
      `select o.payload from checkout.outbox o join checkout.charges c on c.id = o.aggregate_id
       where c.payment_intent_id = any($1) and o.type = 'charge.captured'`,
      [session.paymentIntentIds],
    );
    const objects = told.map(({ payload }) => fromBinary(EventSchema, payload).object);
    expect(objects).toMatchObject([{ case: 'charge', value: { amountCents: 4_000n, amountCapturedCents: 4_000n } }]);
  });

  it('sets a card up and moves no money', async () => {
    const card = await fixture.card('credit');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
    const done = await pay(session, card);
    expect(done.status).toBe('complete');
    expect(done.setupIntentId).toMatch(/^fseti_/);
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('allocates the subscription and its invoice before charging, and tells billing once it is paid', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      mode: 'subscription',
      lines: [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })],
      customerId: card.customerId,
    });
    const done = await pay(session, card);
    expect(done).toMatchObject({ status: 'complete', amountReceivedCents: 2_500 });
    expect(done.subscriptionId).toMatch(/^fsub_/);
    expect(done.invoiceId).toMatch(/^fin_/);
    const commands = await fixture.test.admin(
      "select 1 from checkout.outbox where aggregate_id = $1 and type = 'command.subscription.start'",
      [session.id],
    );
    expect(commands).toHaveLength(1);
  });

  it('gives a subscription the card’s customer where the shop named none, and charges nothing when there is none', async () => {
    const card = await fixture.card('hsa');
    const sold = {
      mode: 'subscription',
      lines: [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })],
    };
    const [named, nameless] = [await fixture.session(sold), await fixture.session(sold)];
    expect(await pay(named, card)).toMatchObject({ status: 'complete', customerId: card.customerId });
    await fixture.test.admin('update checkout.payment_methods set customer_id = null where id = $1', [card.id]);
    await expect(pay(nameless, card)).rejects.toMatchObject({ code: 'customer_required' });
    expect(await fixture.charges(nameless)).toEqual([]);
  });

  it('charges nothing now when a subscription begins with a trial', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      mode: 'subscription',
      lines: [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })],
      customerId: card.customerId,
      subscriptionData: { trialPeriodDays: 14 },
    });
    expect(await pay(session, card)).toMatchObject({ status: 'complete', amountReceivedCents: 0 });
    expect(await fixture.charges(session)).toEqual([]);
  });
});

describe('the page beside a confirm', () => {
  afterEach(() => {
    turnFailpointsOff();
  });

  // Both have a leg of their own, so that no unique index keeps them apart.
  it('does not charge its other card while a confirm that began after it charges the health leg', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    turnFailpointsOn();
    armFailpoint('plan.reserved', { action: 'error' });
    await expect(pay(session, credit)).rejects.toThrow();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(session, hsa)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    // The sweeper comes to the plan before it comes to the confirm's attempt.
    await fixture.test.admin(
      "update checkout.payment_plans set lease_until = now() - interval '1 second', next_check_at = now() where session_id = $1",
      [session.id],
    );
    await fixture.test.admin(
      "update checkout.charge_attempts set next_check_at = now() + interval '1 minute' where subject_id = $1",
      [session.id],
    );
    const failures: unknown[] = [];
    const { logger } = fixture.context;
    const error = (...failure: unknown[]) => void failures.push(failure);
    await sweepCharges({ ...fixture.context, logger: Object.assign(Object.create(logger), { error }) });
    // It waits for its turn; that the tables would refuse it is not what keeps it back.
    expect(failures).toEqual([]);
    await sweepAll();
    expect(await byAmount(session)).toEqual([{ amount: 4_000, captured: 4_000, status: 'succeeded' }]);
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      status: 'complete',
      amountReceivedCents: 4_000,
    });
  });

  it('is not overtaken by a confirm that has nothing to charge', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.session({ lines: [line({ unitAmount: 6_000 })], customerId: hsa.customerId });
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    expect((await pay(session, credit)).status).toBe('open');
    await expect(fixture.confirm(session, hsa)).rejects.toMatchObject({ code: 'lock_timeout' });
    await sweepAll();
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      status: 'complete',
      amountReceivedCents: 6_000,
    });
    expect(await byAmount(session)).toEqual([{ amount: 6_000, captured: 6_000, status: 'succeeded' }]);
  });
});
