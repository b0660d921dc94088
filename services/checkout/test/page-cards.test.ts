import { scoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { readPage } from '../src/actions/read-page.ts';
import type { Session } from '../src/domain/session.ts';
import { findPageCard } from '../src/store/page-cards.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { line } from './world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());

// What the processor's fields give the page: a card that belongs to nobody.
async function typed(token: string): Promise<string> {
  const processor = world.charging.processors.of(world.scope);
  const made = await processor.createPaymentMethod({ token }, { idempotencyKey: newId('request') });
  if (made.kind !== 'found') throw new Error(`The sandbox answered ${made.kind}`);
  return made.paymentMethodId;
}

const pay = (session: Session, first?: string, second?: string) =>
  completeWithCards(world.charging, world.scope, {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second },
    ...{ slot: 'health', secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
const page = (session: Session) => readPage(world.charging, world.scope, session.id);

const guest = () =>
  world.session({
    lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })],
  });
const notFound = { violations: [{ type: 'payment_method_not_found' }] };

describe('a card typed on the page of a session', () => {
  it('becomes a payment method and pays, also when the same request comes again or twice at once [D14.81]', async () => {
    const [first, second] = await Promise.all([typed('tok_hsa'), typed('tok_visa')]);
    const session = await guest();
    const answers = await Promise.allSettled([1, 2, 3].map(() => pay(session, first, second)));
    const paid = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.status] : []));
    expect(paid.length).toBeGreaterThanOrEqual(1);
    await expect(pay(session, first, second)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
    expect((await world.charges(session)).map(({ amount }) => amount).sort()).toEqual([4_000, 6_000]);
    const card = await findPageCard(world.database, world.scope, first);
    expect(card).toMatchObject({ sessionId: session.id });
    const method = await findPaymentMethod(world.database, world.scope, card?.paymentMethodId ?? '');
    expect(method).toMatchObject({ customerId: null, offSession: false, card: { last4: '0072', hsaFsa: true } });
  });

  it('pays no other session, and a card of a customer pays none, as if neither existed [D14.81]', async () => {
    const [own, other] = [await guest(), await guest()];
    const first = await typed('tok_hsa');
    await pay(own, first);
    await expect(pay(other, first)).rejects.toMatchObject(notFound);
    const { processorPaymentMethodId } = await world.card('hsa');
    await expect(pay(other, processorPaymentMethodId)).rejects.toMatchObject(notFound);
    await expect(pay(other, 'pm_missing000000000000000000')).rejects.toMatchObject(notFound);
    // The sandbox makes a new card of a ready one with each use, so that its name is no card.
    await expect(pay(other, 'pm_card_hsa')).rejects.toMatchObject(notFound);
    expect(await world.charges(other)).toEqual([]);
  });

  it('is not made a payment method once the session has ended', async () => {
    const session = await guest();
    await cancelSession(world.resources, world.scope, session.id);
    const card = await typed('tok_visa');
    await expect(pay(session, card)).rejects.toMatchObject({ code: 'checkout_session_canceled' });
    expect(await findPageCard(world.database, world.scope, card)).toBeUndefined();
  });

  it('is kept for the customer where it is charged again, and for charges without the shopper [D14.36, D14.81]', async () => {
    const { customerId } = await world.card('hsa');
    const session = await world.session({ mode: 'setup', lines: [], customerId });
    const card = await typed('tok_visa');
    expect((await pay(session, card)).status).toBe('complete');
    const { paymentMethodId = '' } = (await findPageCard(world.database, world.scope, card)) ?? {};
    const method = await findPaymentMethod(world.database, world.scope, paymentMethodId);
    expect(method).toMatchObject({ customerId, offSession: true });
  });

  it('belongs to one session by the table alone: the role can neither move nor remove it [D14.81]', async () => {
    const session = await guest();
    const card = await typed('tok_visa');
    await pay(session, card);
    const own = 'where account_id = $1 and test_mode = $2';
    const move = scoped('test.move', `update checkout.page_cards set session_id = session_id ${own}`);
    const remove = scoped('test.remove', `delete from checkout.page_cards ${own}`);
    for (const change of [move, remove]) {
      const bypassed = withTx(world.database, world.scope, (tx) => tx.execute(change, world.scope));
      await expect(bypassed).rejects.toThrow('permission denied');
    }
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
    const session = await world.session({
      mode: 'subscription',
      lines: [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })],
      subscriptionData: { trialPeriodDays: 14 },
    });
    expect(await page(session)).toMatchObject({ dueNowCents: 0, healthCardCents: 0, trialEnd: expect.any(Date) });
  });

  it('says that a payment is in flight until its outcome is in the session [D14.82]', async () => {
    const session = await guest();
    const [first, second] = await Promise.all([typed('tok_hsa'), typed('tok_visa')]);
    await world.fault({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 500, times: 1 });
    const paying = pay(session, first, second);
    await world.sending(session);
    expect((await page(session)).paymentInFlight).toBe(true);
    await expect(pay(session, first, second)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect((await paying).status).toBe('complete');
    const after = await page(session);
    expect([after.paymentInFlight, after.session.status]).toEqual([false, 'complete']);
  });

  it('is not in flight while a held health card waits for a second card', async () => {
    const session = await guest();
    await pay(session, await typed('tok_hsa'));
    const waiting = await page(session);
    expect(waiting.paymentInFlight).toBe(false);
    expect(waiting.session.nextAction).toMatchObject({ type: 'provide_second_payment_method' });
  });

  it('is another account’s or mode’s to nobody', async () => {
    const session = await guest();
    for (const scope of [
      { ...world.scope, testMode: false },
      { ...world.scope, accountId: newId('account') },
    ])
      await expect(readPage(world.charging, scope, session.id)).rejects.toMatchObject({
        code: 'checkout_session_not_found',
      });
  });
});
