import { type Scope, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});
afterEach(() => turnFailpointsOff());

const { runAt, read, pay, pastDue, unpaid } = callsOn(
  () => on,
  () => scope,
);
const update = (card: string, of: Scope = scope) =>
  withTx(on.database, of, (tx) => retryWithUpdatedCard(on.context, tx, of, card));
const chargedOn = (card: string) => on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === card).length;

it('charges what a past-due subscription owes at once, also on a card that was refused for good [D14.234]', async () => {
  const { subscriptionId, card } = await sell(on, scope, { card: on.peers.card(true, 'stolen_card') });
  await runAt(may);
  expect((await read(subscriptionId)).invoice.refusedPaymentMethodId).toBe(card);
  on.peers.behave(card, 'pays');
  on.at('2026-05-02T12:00:00.000Z');
  await update(card);
  await update(card);
  await runAt('2026-05-02T12:00:01.000Z');
  expect(await read(subscriptionId)).toMatchObject({
    subscription: { status: 'active', paymentAt: null },
    invoice: { status: 'paid', paidAt: new Date('2026-05-02T12:00:01.000Z') },
  });
  expect(chargedOn(card)).toBe(1);
});

it.each([
  ['for the first time', undefined],
  ['once more', '2026-04-15T00:00:00.000Z'],
])(
  'charges a card that a process of the release before has taken for updated, %s [D14.234]',
  async (_times, before) => {
    const { subscriptionId, card } = await sell(on, scope, { card: on.peers.card(true, 'stolen_card') });
    if (before !== undefined) {
      on.at(before);
      await update(card);
    }
    await runAt(may);
    on.peers.behave(card, 'pays');
    const { invoice } = await read(subscriptionId);
    const noon = '2026-05-02T12:00:00.000Z';
    await on.test.admin(
      'update billing.invoices set refused_payment_method_id = null, version = version + 1 where id = $1',
      [invoice.id],
    );
    await on.test.admin('update billing.subscriptions set payment_at = $2, version = version + 1 where id = $1', [
      subscriptionId,
      noon,
    ]);
    await runAt(noon);
    expect(await read(subscriptionId)).toMatchObject({
      subscription: { status: 'active' },
      invoice: { status: 'paid' },
    });
    expect(chargedOn(card)).toBe(1);
  },
);

it.each(['active', 'past_due'])(
  'charges at once what a card declined whose bank updated it meanwhile, of a subscription that is %s [D14.234]',
  async (status) => {
    const { subscriptionId, card } =
      status === 'active' ? await sell(on, scope, { card: on.peers.card(true, 'expired_card') }) : await pastDue();
    on.peers.behave(card, 'expired_card');
    on.peers.failOn(card, 'lost_after');
    const time = status === 'active' ? may : '2026-05-02T00:00:00.000Z';
    await runAt(time);
    expect((await read(subscriptionId)).subscription.status).toBe(status);
    // The command comes while the outcome is not known.
    await update(card);
    on.peers.behave(card, 'pays');
    await runAt(new Date(Date.parse(time) + 2_000).toISOString());
    expect(await read(subscriptionId)).toMatchObject({
      subscription: { status: 'active' },
      invoice: { status: 'paid', refusedPaymentMethodId: null },
    });
    expect(chargedOn(card)).toBe(1);
  },
);

describe('a card that its bank updates while a charge is under way is charged once more at once', () => {
  const noon = '2026-05-01T12:00:00.000Z';
  const soonAfter = '2026-05-01T12:00:02.000Z';
  const isPaid = async (subscriptionId: string, card: string) => {
    expect(await read(subscriptionId)).toMatchObject({
      subscription: { status: 'active', paymentAt: null },
      invoice: { status: 'paid', updatedPaymentMethodIds: [] },
    });
    expect(chargedOn(card)).toBe(1);
  };
  /** The charge of a card is under way and will be declined; the subscription's card is updated, and pays from then on. */
  const declineLate = async (charged: string, updated: string, charge: () => Promise<unknown>) => {
    on.peers.behave(charged, 'expired_card');
    on.peers.failOn(charged, 'lost_after');
    await charge();
    await update(updated);
    on.peers.behave(updated, 'pays');
  };

  it('after the last try of the schedule [D14.91, D14.234]', async () => {
    const { subscriptionId, card } = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    await declineLate(card, card, () => runAt('2026-05-08T00:00:00.000Z'));
    await runAt('2026-05-08T00:00:02.000Z');
    await isPaid(subscriptionId, card);
  });

  it('where the subscription is unpaid, which no schedule tries any more [D14.234]', async () => {
    const { subscriptionId, invoiceId, card } = await unpaid();
    on.at('2026-05-03T00:00:00.000Z');
    await declineLate(card, card, () => expect(pay(invoiceId)).rejects.toMatchObject({ code: 'lock_timeout' }));
    await runAt('2026-05-03T00:00:02.000Z');
    await isPaid(subscriptionId, card);
  });

  it('where the charge is of a named card [D14.118, D14.234]', async () => {
    const { subscriptionId, card, customerId } = await sell(on, scope, { card: on.peers.card(true, 'stolen_card') });
    await runAt(may);
    const named = on.peers.cardOf(customerId, true);
    const { invoice } = await read(subscriptionId);
    on.at(noon);
    await declineLate(named, card, () =>
      expect(pay(invoice.id, named)).rejects.toMatchObject({ code: 'lock_timeout' }),
    );
    await runAt(soonAfter);
    await isPaid(subscriptionId, card);
  });

  it('where a named card is due and its charge has not begun [D14.118, D14.234]', async () => {
    const { subscriptionId, invoiceId, card, customerId } = await pastDue();
    on.at(noon);
    turnFailpointsOn();
    armFailpoint('invoice.due', { action: 'error' });
    await expect(pay(invoiceId, on.peers.cardOf(customerId, true, 'insufficient_funds'))).rejects.toThrow(
      'invoice.due',
    );
    turnFailpointsOff();
    await update(card);
    on.peers.behave(card, 'pays');
    await runAt('2026-05-01T12:02:00.000Z');
    await isPaid(subscriptionId, card);
  });

  it('where it was named itself [D14.118, D14.234]', async () => {
    const { subscriptionId, invoiceId, card, customerId } = await pastDue();
    on.peers.owns(card, customerId);
    on.at(noon);
    await declineLate(card, card, () => expect(pay(invoiceId, card)).rejects.toMatchObject({ code: 'lock_timeout' }));
    await runAt(soonAfter);
    await isPaid(subscriptionId, card);
  });

  it('and no more where it is declined again [D14.234]', async () => {
    const { subscriptionId, invoiceId, card, customerId } = await pastDue();
    const named = on.peers.cardOf(customerId, true);
    on.at(noon);
    await declineLate(named, card, () => expect(pay(invoiceId, named)).rejects.toMatchObject({ code: 'lock_timeout' }));
    on.peers.behave(card, 'insufficient_funds');
    const { asked } = on.peers;
    await runAt(soonAfter);
    // The answer of the first one, and the updated card once.
    expect(on.peers.asked - asked).toBe(2);
    expect((await read(subscriptionId)).subscription).toMatchObject({
      status: 'past_due',
      paymentAt: new Date('2026-05-02T00:00:00.000Z'),
    });
  });
});

it('chooses the card again that is found to be a health card before it is charged, and refuses it nothing [D14.91]', async () => {
  const { subscriptionId, card } = await sell(on, scope, { card: on.peers.card(false) });
  on.peers.failOn(card, 'lost_before');
  await runAt(may);
  on.peers.behave(card, 'pays', { healthCard: true });
  await runAt('2026-05-01T00:00:02.000Z');
  const { invoice } = await read(subscriptionId);
  expect(invoice).toMatchObject({ status: 'paid', attempts: 0, refusedPaymentMethodId: null });
  expect(on.peers.taken.filter((one) => one.invoiceId === invoice.id)).toMatchObject([{ leg: 'health' }]);
});

it('charges an unpaid subscription, which no schedule tries any more [D14.234]', async () => {
  const { subscriptionId, card } = await unpaid();
  on.peers.behave(card, 'pays');
  await update(card);
  await runAt('2026-05-02T00:01:00.000Z');
  expect((await read(subscriptionId)).subscription.status).toBe('active');
});

it('leaves the schedule as it is where the updated card is declined, too [D14.234]', async () => {
  const { subscriptionId, card } = await pastDue();
  on.at('2026-05-01T12:00:00.000Z');
  await update(card);
  while (await runDueSubscriptions(on.context));
  const { subscription, invoice } = await read(subscriptionId);
  expect(invoice.attempts).toBe(2);
  expect(subscription).toMatchObject({ status: 'past_due', paymentAt: new Date('2026-05-02T00:00:00.000Z') });
});

it('charges the other card of a subscription, at the time of its test clock [D14.234]', async () => {
  const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
  const backup = on.peers.card(false, 'insufficient_funds');
  const items = [{}, { eligibility: 'not_eligible' }];
  const { subscriptionId } = await sell(on, scope, { testClockId: clock.id, backup, items });
  await advanceTestClock(on.context, callOf(scope), clock.id, new Date('2026-05-01T06:00:00.000Z'));
  expect((await read(subscriptionId)).subscription.status).toBe('past_due');
  on.peers.behave(backup, 'pays');
  await update(backup);
  expect((await read(subscriptionId)).subscription.paymentAt).toEqual(new Date('2026-05-01T06:00:00.000Z'));
  await advanceTestClock(on.context, callOf(scope), clock.id, new Date('2026-05-01T06:00:01.000Z'));
  expect((await read(subscriptionId)).invoice.status).toBe('paid');
});

it('charges nothing of subscriptions that owe nothing, have ended, or are of another account [D14.234]', async () => {
  const { subscriptionId, card } = await sell(on, scope);
  await update(card);
  expect((await read(subscriptionId)).subscription.paymentAt).toBeNull();
  const owing = await pastDue();
  await update(owing.card, someScope());
  expect((await read(owing.subscriptionId)).subscription.paymentAt).toEqual(new Date('2026-05-02T00:00:00.000Z'));
});
