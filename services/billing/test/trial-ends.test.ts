import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { chargeAt } from '../src/domain/renewal-spread.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, sellOne } from './subscription-calls.ts';

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

const { runAt, read, invoicesOf, update } = callsOn(
  () => on,
  () => scope,
);

it('charges a backup card alone at the end of a trial, and does not end as one without a card [D14.338]', async () => {
  const parts = { trialDays: 14, card: null, backup: on.peers.card(false), missingPaymentMethod: 'cancel' } as const;
  const { subscriptionId: id, backup } = await sell(on, scope, parts);
  await runAt('2026-04-15T00:00:00.000Z');
  const { subscription, invoice } = await read(id);
  expect([subscription.status, invoice.status, invoice.totalCents]).toEqual(['active', 'paid', 3_000]);
  expect(on.peers.taken.at(-1)).toMatchObject({ invoiceId: invoice.id, paymentMethodId: backup });
});

it.each([
  ['cancel', 'not_eligible', ['canceled', 'paid', 0]],
  ['pause', 'not_eligible', ['paused', 'paid', 0]],
  ['cancel', 'auto_substantiation', ['active', 'paid', 3_000]],
])(
  'with a health card as the backup alone does what the sale agreed if that cannot pay: %s, %s [D14.338]',
  async (missingPaymentMethod, eligibility, expected) => {
    const parts = { trialDays: 14, card: null, backup: on.peers.card(true), missingPaymentMethod };
    const { subscriptionId: id } = await sell(on, scope, { ...parts, items: [{ eligibility }] });
    await runAt('2026-04-15T00:00:00.000Z');
    const { subscription, invoice } = await read(id);
    expect([subscription.status, invoice.status, invoice.amountPaidCents]).toEqual(expected);
  },
);

describe('a trial that is ended now', () => {
  it('on a test clock that stands at its start charges the first period before the answer [D14.116]', async () => {
    const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14, testClockId: clock.id });
    expect(await update(id, { trialEnd: 'now' })).toMatchObject({ status: 'active', paymentAt: null });
    const { subscription, invoice } = await read(id);
    expect(invoice).toMatchObject({ status: 'paid', totalCents: 3_000, createdAt: start, paidAt: start });
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
    // The trial lasts a millisecond: the period that begins with it has its invoice.
    const begin = new Date(start.getTime() + 1);
    expect(subscription).toMatchObject({ trialEnd: begin, currentPeriodStart: begin, anchor: begin });
    expect(subscription.currentPeriodEnd).toEqual(new Date('2026-05-01T00:00:00.001Z'));
    await advanceTestClock(on.context, callOf(scope), clock.id, new Date('2026-05-01T00:00:00.000Z'));
    expect(await invoicesOf(id)).toHaveLength(2);
  });

  it('in the millisecond in which it began charges the first period before the answer [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14 });
    expect(await update(id, { trialEnd: 'now' })).toMatchObject({ status: 'active', paymentAt: null });
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
  });

  it('on a test clock owes the first period at once where the outcome of the charge is unknown [D14.116]', async () => {
    const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const { subscriptionId: id, card } = await sell(on, scope, { trialDays: 14, testClockId: clock.id });
    on.peers.failOn(card, 'lost_after');
    expect(await update(id, { trialEnd: 'now' })).toMatchObject({ status: 'active', paymentAt: start });
    expect((await read(id)).invoice.status).toBe('open');
  });

  it('charges now where the renewals of its account are spread, and spreads those that follow [D14.116, D14.235]', async () => {
    await changeRenewalSpread(on.database, scope, 60);
    const sellWaiting = () =>
      sellOne(
        () => sell(on, scope, { trialDays: 14 }),
        ({ subscriptionId: id }) =>
          chargeAt({ id, testClockId: null }, start, 60, start).getTime() > start.getTime() + 60_000,
      );
    const { subscriptionId: asked } = await sellWaiting();
    const { subscriptionId: waits } = await sellWaiting();
    on.at('2026-04-10T00:00:00.000Z');
    expect(await update(asked, { trialEnd: 'now' })).toMatchObject({ status: 'active', paymentAt: null });
    expect((await read(asked)).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
    await runAt('2026-04-15T00:00:00.000Z');
    expect((await read(waits)).invoice.status).toBe('open');
    await runAt('2026-05-10T00:00:00.000Z');
    expect((await read(asked)).invoice.status).toBe('open');
  });

  it('is 503 lock_timeout and goes on while another process works on its subscription [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14 });
    const until = new Date(start.getTime() + 60_000);
    await on.test.admin('update billing.subscriptions set held_until = $2 where id = $1', [id, until]);
    await expect(update(id, { trialEnd: 'now' })).rejects.toMatchObject({ code: 'lock_timeout' });
    expect((await read(id)).subscription).toMatchObject({ status: 'trialing', trialEnd: new Date('2026-04-15') });
  });

  it('is refused at a time that is not in the future, and goes on [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14 });
    on.at('2026-04-10T00:00:00.000Z');
    for (const time of ['2026-04-09T23:59:59.999Z', '2026-04-10T00:00:00.000Z']) {
      await expect(update(id, { trialEnd: new Date(time) })).rejects.toMatchObject({
        status: 422,
        violations: [{ loc: ['body', 'subscription', 'trial_end'], type: 'value_error', msg: 'Must be in the future' }],
      });
    }
    expect((await read(id)).subscription).toMatchObject({ status: 'trialing', trialEnd: new Date('2026-04-15') });
    const soon = new Date('2026-04-10T00:00:00.001Z');
    expect(await update(id, { trialEnd: soon })).toMatchObject({ status: 'trialing', trialEnd: soon });
  });
});
