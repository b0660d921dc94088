import type { Scope } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { nextStep } from '../src/domain/due-step.ts';
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

const { runAt, read, eventsOf, invoicesOf, update, pay, voids, pastDue, unpaid, givenUp } = callsOn(
  () => on,
  () => scope,
);

describe('paying an invoice', () => {
  it('charges the card that is named, and makes the subscription active [INV-5, D14.118]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    const other = on.peers.cardOf(customerId, true);
    expect(await pay(invoiceId, other)).toMatchObject({ status: 'paid' });
    expect(on.peers.taken.at(-1)).toMatchObject({ invoiceId, paymentMethodId: other });
    expect((await read(id)).subscription).toMatchObject({ status: 'active', defaultPaymentMethodId: card });
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'invoice_already_paid' });
  });

  it('charges the card of the subscription if none is named', async () => {
    const { invoiceId, card } = await pastDue();
    on.peers.behave(card, 'pays');
    expect(await pay(invoiceId)).toMatchObject({ status: 'paid' });
  });

  it('is refused while its account may charge no health cards, and a later try is paid once it may [D14.233]', async () => {
    const { subscriptionId: id, invoiceId: first, card } = await sell(on, scope);
    on.peers.behave(card, 'health_cards_not_enabled');
    await runAt(may);
    const { invoice } = await read(id);
    expect(invoice).toMatchObject({ failureCode: 'health_cards_not_enabled', refusedPaymentMethodId: null });
    expect(invoice.id).not.toBe(first);
    await expect(pay(invoice.id)).rejects.toMatchObject({ code: 'health_cards_not_enabled' });
    expect((await read(id)).subscription).toMatchObject({
      ...{ status: 'past_due', paymentAt: new Date('2026-05-02T00:00:00.000Z') },
    });
    expect(on.peers.takenOf(invoice.id)).toBe(0);
    on.peers.behave(card, 'pays');
    await runAt('2026-05-02T00:00:00.000Z');
    expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
  });

  it('answers a decline, and leaves the next try to the schedule', async () => {
    const { subscriptionId: id, invoiceId } = await pastDue();
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'card_declined', declineCode: 'insufficient_funds' });
    expect((await read(id)).subscription).toMatchObject({
      ...{ status: 'past_due', paymentAt: new Date('2026-05-02T00:00:00.000Z') },
    });
  });

  it('says which card is missing', async () => {
    const { subscriptionId } = await sell(on, scope, { card: null });
    await runAt(may);
    const { invoice } = await read(subscriptionId);
    await expect(pay(invoice.id)).rejects.toMatchObject({
      violations: [{ loc: ['body', 'invoice', 'payment_method'], type: 'payment_method_required' }],
    });
  });

  it('collects what was given up when its subscription ended, and leaves that ended', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await givenUp();
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'card_declined' });
    expect(await pay(invoiceId, on.peers.cardOf(customerId, true))).toMatchObject({ status: 'paid' });
    expect((await read(id)).subscription).toMatchObject({ status: 'canceled', paymentAt: null });
    const [row] = await on.test.admin('select due_at from billing.subscriptions where id = $1', [id]);
    expect(row).toMatchObject({ due_at: null });
  });

  it.each(['invoice.due', 'invoice_charge.begun', 'invoice_charge.answered', 'invoice_charge.before_commit'])(
    'charges the named card once after a crash at %s, also of one that was given up',
    async (name) => {
      const { subscriptionId: id, invoiceId, customerId } = await givenUp();
      const other = on.peers.cardOf(customerId, true);
      turnFailpointsOn();
      armFailpoint(name, { action: 'error', skip: 0 });
      await pay(invoiceId, other).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
      turnFailpointsOff();
      const { subscription } = await read(id);
      const [row] = await on.test.admin<{ due_at: Date }>('select due_at from billing.subscriptions where id = $1', [
        id,
      ]);
      expect(row?.due_at ?? undefined).toEqual(nextStep(subscription)?.at);
      await runAt('2026-05-08T00:02:00.000Z');
      expect((await read(id)).invoice.status).toBe('paid');
      expect(on.peers.taken.filter((one) => one.invoiceId === invoiceId)).toMatchObject([{ paymentMethodId: other }]);
    },
  );
});

describe('voiding an invoice', () => {
  it.each([
    ['past due', pastDue],
    ['unpaid', unpaid],
  ])(
    'makes a subscription that is %s active, with the next period as agreed [INV-6, D14.118]',
    async (_status, make) => {
      const { subscriptionId: id, invoiceId, card } = await make();
      expect(await voids(invoiceId)).toMatchObject({ status: 'void' });
      expect((await read(id)).subscription).toMatchObject({ status: 'active', paymentAt: null });
      expect((await eventsOf(invoiceId)).at(-1)).toBe('invoice.voided');
      on.peers.behave(card, 'pays');
      await runAt('2026-06-01T00:00:00.000Z');
      expect((await invoicesOf(id)).map(({ status }) => status)).toEqual(['paid', 'void', 'paid']);
      expect(on.peers.takenOf(invoiceId)).toBe(0);
    },
  );

  it('refunds the part that one of two cards has paid', async () => {
    const backup = on.peers.card(false, 'insufficient_funds');
    const { subscriptionId: id } = await sell(on, scope, { backup, items: [{}, { eligibility: 'not_eligible' }] });
    await runAt(may);
    const { invoice } = await read(id);
    expect(invoice).toMatchObject({ status: 'open', amountPaidCents: 3_000 });
    await voids(invoice.id);
    expect((await eventsOf(id)).filter((type) => type === 'command.refund')).toHaveLength(1);
  });

  it('ends a payment of what was given up that has not begun, so that nothing is due any more', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await givenUp();
    turnFailpointsOn();
    armFailpoint('invoice.due', { action: 'error', skip: 0 });
    await pay(invoiceId, on.peers.cardOf(customerId, true)).catch(() => undefined);
    turnFailpointsOff();
    expect((await read(id)).subscription.paymentAt).not.toBeNull();
    expect(await voids(invoiceId)).toMatchObject({ status: 'void' });
    expect((await read(id)).subscription).toMatchObject({ status: 'canceled', paymentAt: null, heldUntil: null });
    const [row] = await on.test.admin('select due_at from billing.subscriptions where id = $1', [id]);
    expect(row).toMatchObject({ due_at: null });
  });

  it('leaves a subscription that has ended as it is', async () => {
    const { subscriptionId: id, invoiceId } = await givenUp();
    expect(await voids(invoiceId)).toMatchObject({ status: 'void' });
    expect((await read(id)).subscription.status).toBe('canceled');
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'invoice_not_payable' });
  });
});

describe('what these calls refuse', () => {
  const ended = async () => {
    const sold = await sell(on, scope);
    await cancelSubscription(on.context, scope, sold.subscriptionId, {
      atPeriodEnd: false,
      refund: 'none',
      refundAmountCents: null,
    });
    return sold;
  };
  const call = () => callOf(scope);
  const refusals: [string, () => Promise<unknown>, string][] = [
    [
      'an update of one that has ended',
      async () => update((await ended()).subscriptionId, { metadata: {} }),
      'subscription_not_updatable',
    ],
    [
      'the trial of one without a trial',
      async () => update((await sell(on, scope)).subscriptionId, { trialEnd: 'now' }),
      'subscription_not_updatable',
    ],
    [
      'a pause of one that is past due',
      async () => pause(on.context, call(), (await pastDue()).subscriptionId),
      'subscription_not_pausable',
    ],
    [
      'a pause of a trial',
      async () => pause(on.context, call(), (await sell(on, scope, { trialDays: 3 })).subscriptionId),
      'subscription_not_pausable',
    ],
    [
      'a resumption of one that is active',
      async () => resume(on.context, call(), (await sell(on, scope)).subscriptionId, false),
      'subscription_not_resumable',
    ],
    ['a resumption after its customer was deleted', resumeWithoutCustomer, 'subscription_not_resumable'],
    ['paying what is paid', async () => pay((await sell(on, scope)).invoiceId), 'invoice_already_paid'],
    ['paying what is void', payVoid, 'invoice_not_payable'],
    ['voiding what is paid', async () => voids((await sell(on, scope)).invoiceId), 'invoice_not_voidable'],
    ['an update of none', () => update('fsub_none', {}), 'subscription_not_found'],
    ['a pause of none', () => pause(on.context, call(), 'fsub_none'), 'subscription_not_found'],
    ['a resumption of none', () => resume(on.context, call(), 'fsub_none', false), 'subscription_not_found'],
    ['paying none', () => pay('fin_none'), 'invoice_not_found'],
    ['voiding none', () => voids('fin_none'), 'invoice_not_found'],
  ];
  async function resumeWithoutCustomer() {
    const { subscriptionId, customerId } = await sell(on, scope);
    await pause(on.context, call(), subscriptionId);
    on.peers.deleteCustomer(customerId);
    return resume(on.context, call(), subscriptionId, false);
  }
  async function payVoid() {
    const { invoiceId } = await pastDue();
    await voids(invoiceId);
    return pay(invoiceId);
  }

  it.each(refusals)('%s', async (_what, ask, code) => {
    await expect(ask()).rejects.toMatchObject({ code });
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['a deleted customer', resumeWithoutCustomer, 'The customer of this subscription was deleted.'],
    [
      'a trial that is over',
      async () => update((await sell(on, scope)).subscriptionId, { trialEnd: 'now' }),
      'This subscription is not in a trial.',
    ],
    ['less than any card can be charged', payLittle, 'This invoice is below what a card can be charged.'],
    [
      'a part that is refunded',
      payRefunded,
      'A part of this invoice was paid before it was given up, and is refunded.',
    ],
  ])('says what is in the way: %s', async (_what, ask, detail) => {
    await expect(ask()).rejects.toMatchObject({ detail });
  });
  async function payLittle() {
    const { subscriptionId } = await sell(on, scope, { items: [{ unitAmountCents: 20 }], receivedCents: 40 });
    await runAt(may);
    return pay((await read(subscriptionId)).invoice.id);
  }
  async function payRefunded() {
    const parts = { backup: on.peers.card(false, 'insufficient_funds'), items: [{}, { eligibility: 'not_eligible' }] };
    const { subscriptionId } = await sell(on, scope, parts);
    for (const day of ['01', '02', '04', '06', '08']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    return pay((await read(subscriptionId)).invoice.id);
  }

  it('everything about an invoice whose charge is in flight, with lock_timeout [D14.118]', async () => {
    const { subscriptionId: id, card } = await sell(on, scope);
    for (const fault of ['lost_before', 'lost_before', 'lost_before'] as const) on.peers.failOn(card, fault);
    await runAt(may);
    const { invoice } = await read(id);
    for (const ask of [() => pause(on.context, call(), id), () => pay(invoice.id), () => voids(invoice.id)]) {
      await expect(ask()).rejects.toMatchObject({ code: 'lock_timeout' });
    }
  });
});
