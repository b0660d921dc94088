import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
import { resume } from '../src/actions/pause-and-resume.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import type { Context } from '../src/context.ts';
import { chargeAt } from '../src/domain/renewal-spread.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, refusedBy, sellOne } from './subscription-calls.ts';

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

const { runAt, read, invoicesOf, refundsOf, update } = callsOn(
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

  it('charges the first period of one that is to end with its period, and ends with that one [D14.116]', async () => {
    const sold = { trialDays: 14, cancelAtPeriodEnd: true };
    const { subscriptionId: before } = await sell(on, scope, sold);
    const { subscriptionId: atOnce } = await sell(on, scope, { trialDays: 14 });
    on.at('2026-04-10T00:00:00.000Z');
    const end = new Date('2026-05-10T00:00:00.000Z');
    for (const [id, change] of [
      [before, { trialEnd: 'now' }],
      [atOnce, { trialEnd: 'now', cancelAtPeriodEnd: true }],
    ] as const) {
      const expected = { status: 'active', cancelAtPeriodEnd: true, currentPeriodEnd: end, paymentAt: null };
      expect(await update(id, change)).toMatchObject(expected);
      expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
    }
    await runAt('2026-05-10T00:00:00.000Z');
    for (const id of [before, atOnce]) {
      expect((await read(id)).subscription).toMatchObject({ status: 'canceled', canceledAt: end });
      expect(await invoicesOf(id)).toHaveLength(2);
    }
  });

  it.each([true, false])(
    'charges the first period after a crash also where it is to end with its period, asked before: %s [D14.116]',
    async (cancelAtPeriodEnd) => {
      const { subscriptionId: id } = await sell(on, scope, { trialDays: 14, cancelAtPeriodEnd });
      on.at('2026-04-10T00:00:00.000Z');
      const failpoint: Context['failpoint'] = (name) => {
        if (name === 'subscription.changed') throw new Error('killed');
        return undefined;
      };
      const asked = { discount: { couponId: null, promoCode: null }, clearsDiscounts: false, trialEnd: 'now' } as const;
      const dying = updateSubscription({ ...on.context, failpoint }, callOf(scope), id, asked);
      await expect(dying).rejects.toThrow('killed');
      // Asked for while the first period is still to be charged.
      const cancel = { atPeriodEnd: true, refund: 'none', refundAmountCents: null } as const;
      const answer = await cancelSubscription(on.context, scope, id, cancel);
      expect(answer).toMatchObject({ status: 'trialing', cancelAtPeriodEnd: true });
      await runAt('2026-04-10T00:02:00.000Z');
      const { subscription, invoice } = await read(id);
      const end = new Date('2026-05-10T00:00:00.000Z');
      expect(subscription).toMatchObject({ status: 'active', cancelAtPeriodEnd: true, currentPeriodEnd: end });
      expect(invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
    },
  );

  it('is no more so once its partner has moved the end again: one that ends with its trial is charged nothing [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14, cancelAtPeriodEnd: true });
    const cutShort = (of: string) =>
      on.test.admin('update billing.subscriptions set trial_cut_short = true where id = $1', [of]);
    await cutShort(id);
    const end = new Date('2026-04-20T00:00:00.000Z');
    expect(await update(id, { trialEnd: end })).toMatchObject({ trialCutShort: false, trialEnd: end });
    await runAt('2026-04-20T00:00:00.000Z');
    expect((await read(id)).subscription).toMatchObject({ status: 'canceled', canceledAt: end });
    const { subscriptionId: without } = await sell(on, scope);
    await expect(cutShort(without)).rejects.toEqual(refusedBy('only_a_trial_is_cut_short'));
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

describe('a subscription that the end of its trial has paused', () => {
  const twentieth = new Date('2026-04-20T00:00:00.000Z');
  /** Without a card from 15 April on. */
  async function paused() {
    const parts = { trialDays: 14, card: null, missingPaymentMethod: 'pause' };
    const { subscriptionId: id, customerId } = await sell(on, scope, parts);
    await runAt('2026-04-15T00:00:00.000Z');
    const { subscription } = await read(id);
    expect(subscription).toMatchObject({ status: 'paused', currentPeriodEnd: new Date('2026-04-15T00:00:00.000Z') });
    on.at(twentieth);
    return { id, give: () => update(id, { defaultPaymentMethodId: on.peers.cardOf(customerId, true) }) };
  }

  it.each([
    ['begins a period then, and pays it whole', false, 3_000, twentieth, '2026-05-20T00:00:00.000Z'],
    // 25 of the 30 days that the end of the trial began.
    ['pays the rest of the period after the trial', true, 2_500, new Date('2026-04-15'), '2026-05-15T00:00:00.000Z'],
  ])('stays paused with a card, and once it is resumed %s [D14.117]', async (_what, keeps, total, anchor, end) => {
    const { id, give } = await paused();
    expect(await give()).toMatchObject({ status: 'paused', paymentAt: null });
    expect(await invoicesOf(id)).toHaveLength(1);
    const resumed = await resume(on.context, callOf(scope), id, keeps);
    expect(resumed).toMatchObject({ status: 'active', anchor, currentPeriodEnd: new Date(end) });
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: total, amountPaidCents: total });
    await runAt(end);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
  });

  it('owes what a resumption without a card costs, and pays it with the card that is given then [D14.117]', async () => {
    const { id, give } = await paused();
    expect(await resume(on.context, callOf(scope), id, false)).toMatchObject({ status: 'past_due' });
    expect(await give()).toMatchObject({ status: 'active' });
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
  });

  it('is canceled without a refund: nothing was paid [D14.330]', async () => {
    const { id } = await paused();
    const asked = { atPeriodEnd: false, refund: 'full', refundAmountCents: null } as const;
    const answer = await cancelSubscription(on.context, scope, id, asked);
    expect(answer).toMatchObject({ status: 'canceled', canceledAt: twentieth });
    expect(await refundsOf(id)).toEqual([]);
    await runAt('2026-06-01T00:00:00.000Z');
    expect(await invoicesOf(id)).toHaveLength(1);
  });
});
