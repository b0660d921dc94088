import { type Scope, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import type { SubscriptionUpdate } from '../src/actions/update-subscription.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { loadInvoiceLines } from '../src/store/invoice-lines.ts';
import { loadInvoiceCredits, pendingProrations, returnCredits } from '../src/store/prorations.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { stripeCases } from './stripe-cases.ts';
import { callsOn, may, refusedBy } from './subscription-calls.ts';
import { unpaidCreditTests } from './unpaid-credits.ts';

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

const { runAt, read, eventsOf, refundsOf, invoicesOf, update, pastDue, voids } = callsOn(
  () => on,
  () => scope,
);

// Half of the period of thirty days that is sold.
const half = '2026-04-16T00:00:00.000Z';
const june = '2026-06-01T00:00:00.000Z';

/** 30.00 a month on a health card, and another price of the given amount. */
async function soldAnd(unitAmountCents: number, eligibility = 'auto_substantiation') {
  const backup = on.peers.card(false);
  const sold = await sell(on, scope, { backup });
  on.at(half);
  return { ...sold, id: sold.subscriptionId, price: on.peers.price({ unitAmountCents, eligibility }) };
}

const changeTo = (id: string, priceId: string, behavior: string, more: Partial<SubscriptionUpdate> = {}) =>
  update(id, { items: [{ priceId, quantity: 1 }], prorationBehavior: behavior, ...more });
const totalsOf = async (id: string) => (await invoicesOf(id)).map(({ total_cents }) => Number(total_cents));
const pendingOf = async (id: string) =>
  (await pendingProrations(on.database, scope, id)).map(({ kind, leftCents }) =>
    kind === 'credit' ? -leftCents : leftCents,
  );
const chargesOf = async (id: string) => {
  const { invoice } = await read(id);
  return (await loadInvoiceCharges(on.database, scope, invoice.id)).map(({ leg, amountCents }) => [leg, amountCents]);
};

describe('other items', () => {
  it('with always_invoice are charged at once [SUB-10, D14.185]', async () => {
    const { id, price } = await soldAnd(6_000);
    expect(await changeTo(id, price, 'always_invoice')).toMatchObject({ status: 'active', paymentAt: null });
    const { subscription, invoice } = await read(id);
    expect(subscription.items).toMatchObject([{ priceId: price, invoicedCents: 6_000, invoicedEligible: true }]);
    expect(invoice).toMatchObject({
      ...{ status: 'paid', totalCents: 1_500, eligibleCents: 1_500, billingReason: 'subscription_update' },
      ...{ periodStart: new Date(half), periodEnd: new Date(may) },
    });
    expect(await chargesOf(id)).toEqual([['health', 1_500]]);
    expect(on.peers.taken.at(-1)?.healthcareCents).toBe(1_500);
    expect(await eventsOf(invoice.id)).toEqual(['invoice.created', 'invoice.finalized', 'invoice.paid']);
    expect(await loadInvoiceCredits(on.database, scope, invoice.id)).toMatchObject([
      { amountCents: 1_500, eligible: true, eligibility: 'auto_substantiation' },
    ]);
    await runAt(june);
    expect(await totalsOf(id)).toEqual([3_000, 1_500, 6_000, 6_000]);
  });

  it('with create_prorations are charged with the next period, on the decisions of their own time', async () => {
    const { id, price } = await soldAnd(6_000);
    on.peers.ruleVersion = '5';
    await changeTo(id, price, 'create_prorations');
    on.peers.ruleVersion = '6';
    expect([await totalsOf(id), await pendingOf(id)]).toEqual([[3_000], [-1_500, 3_000]]);
    await runAt(may);
    expect([await totalsOf(id), await pendingOf(id)]).toEqual([[3_000, 7_500], []]);
    const lines = await loadInvoiceLines(on.database, scope, (await read(id)).invoice.id);
    expect(lines.map(({ totalCents, ruleVersion }) => [totalCents, ruleVersion])).toEqual([
      [6_000, '6'],
      [3_000, '5'],
    ]);
    on.peers.ruleVersion = '1';
  });

  it('with none cost something from the next period on', async () => {
    const { id, price } = await soldAnd(6_000);
    await changeTo(id, price, 'none');
    expect(await pendingOf(id)).toEqual([]);
    await runAt(may);
    expect(await totalsOf(id)).toEqual([3_000, 6_000]);
  });

  it('that cost less are a credit, which later invoices use and nobody is paid out [D14.186]', async () => {
    const { id, price } = await soldAnd(200);
    await changeTo(id, price, 'always_invoice');
    expect([await totalsOf(id), await pendingOf(id)]).toEqual([[3_000], [-1_500, 100]]);
    await runAt(may);
    await runAt(june);
    expect(await totalsOf(id)).toEqual([3_000, 0, 0]);
    expect(await pendingOf(id)).toEqual([-1_000]);
    await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund: 'full', refundAmountCents: null });
    expect(await eventsOf(id)).not.toContain('command.refund');
  });

  it('that a health card may not pay are charged to the other card, and its credit stays for what it may pay', async () => {
    const { id, price } = await soldAnd(4_000, 'not_eligible');
    await changeTo(id, price, 'always_invoice');
    expect(await chargesOf(id)).toEqual([['other', 2_000]]);
    expect(await pendingOf(id)).toEqual([-1_500]);
    const { subscription } = await read(id);
    expect(subscription.items).toMatchObject([{ invoicedCents: 4_000, invoicedEligible: false }]);
    const medical = on.peers.price({ unitAmountCents: 1_000 });
    await update(id, {
      items: [
        { priceId: price, quantity: 1 },
        { priceId: medical, quantity: 8 },
      ],
    });
    expect(await chargesOf(id)).toEqual([['health', 2_500]]);
    expect(await pendingOf(id)).toEqual([]);
  });

  it('in a trial are charged when it ends, and cost nothing before', async () => {
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14 });
    on.at('2026-04-08T00:00:00.000Z');
    const price = on.peers.price({ unitAmountCents: 6_000 });
    await changeTo(id, price, 'always_invoice');
    expect([await totalsOf(id), await pendingOf(id)]).toEqual([[0], []]);
    await runAt(half);
    expect(await totalsOf(id)).toEqual([0, 6_000]);
  });

  it('at another interval begin a period now [D14.187]', async () => {
    const { id } = await soldAnd(0);
    const yearly = on.peers.price({ unitAmountCents: 24_000, recurring: { interval: 'year' } });
    expect(await changeTo(id, yearly, 'create_prorations')).toMatchObject({
      ...{ status: 'active', interval: 'year', currentPeriodEnd: new Date('2027-04-16T00:00:00.000Z') },
    });
    await runAt('2027-04-16T00:00:00.000Z');
    expect(await totalsOf(id)).toEqual([3_000, 22_500, 24_000]);
  });

  it('keep their tax in proportion, and a price that is kept stays as it was agreed', async () => {
    const { subscriptionId: id, priceIds } = await sell(on, scope, {
      items: [{ unitAmountCents: 1_000, quantity: 2, taxCents: 201, shippingCents: 799 }],
    });
    on.at(half);
    const [priceId = ''] = priceIds;
    await update(id, { items: [{ priceId, quantity: 3 }] });
    expect((await read(id)).subscription.items).toMatchObject([
      { quantity: 3, unitAmountCents: 1_000, taxCents: 301, shippingCents: 799, invoicedCents: 4_100 },
    ]);
    expect(await pendingOf(id)).toEqual([-1_500, 1_500 + 150 + 399]);
  });

  it('that are those that it has change nothing', async () => {
    const { id, priceIds } = await soldAnd(0);
    const { subscription } = await read(id);
    const [priceId = ''] = priceIds;
    for (const quantity of [2, null]) await update(id, { items: [{ priceId, quantity }] });
    expect((await read(id)).subscription.items).toEqual(subscription.items);
    expect(await pendingOf(id)).toEqual([]);
  });

  it('by the same request again are charged once', async () => {
    const { id, price } = await soldAnd(6_000);
    for (let time = 0; time < 3; time++) await changeTo(id, price, 'always_invoice');
    expect(await totalsOf(id)).toEqual([3_000, 1_500]);
  });
});

describe('a payment for other items', () => {
  it('that fails is dunned, and a void invoice gives its credits back and credits nothing else', async () => {
    const { id, price, card } = await soldAnd(6_000);
    on.peers.behave(card, 'insufficient_funds');
    await update(id, { backupPaymentMethodId: null });
    expect(await changeTo(id, price, 'always_invoice')).toMatchObject({ status: 'past_due' });
    const { invoice } = await read(id);
    await expect(changeTo(id, on.peers.price(), 'always_invoice')).rejects.toMatchObject({
      code: 'subscription_not_updatable',
    });
    await voids(invoice.id);
    expect(await pendingOf(id)).toEqual([-1_500]);
    expect((await read(id)).subscription.items).toMatchObject([{ invoicedCents: 0, invoicedEligible: false }]);
    on.peers.behave(card, 'pays');
    await changeTo(id, on.peers.price({ unitAmountCents: 0 }), 'create_prorations');
    expect(await pendingOf(id)).toEqual([-1_500]);
  });

  it('is not lost with a pause: the next invoice carries what is pending', async () => {
    const { id, price } = await soldAnd(6_000);
    await changeTo(id, price, 'create_prorations');
    await pause(on.context, callOf(scope), id);
    on.at(june);
    await resume(on.context, callOf(scope), id, false);
    expect([await totalsOf(id), await pendingOf(id)]).toEqual([[3_000, 7_500], []]);
  });

  it('is refunded up to the value of the unused time [D14.330]', async () => {
    const { id, price } = await soldAnd(6_000);
    await changeTo(id, price, 'always_invoice');
    on.at(new Date((Date.parse(half) + Date.parse(may)) / 2));
    await cancelSubscription(on.context, scope, id, {
      atPeriodEnd: false,
      refund: 'prorated',
      refundAmountCents: null,
    });
    expect(await refundsOf(id)).toMatchObject([{ amountCents: 750 }, { amountCents: 750 }]);
  });
});

describe('a payment for other items', () =>
  unpaidCreditTests(() => ({ on, soldAnd, changeTo, pendingOf, runAt, read, update, voids })));

describe('what is refused', () => {
  it('while a renewal is due, and for one that has ended', async () => {
    const { id, price } = await soldAnd(6_000);
    on.at(may);
    await expect(changeTo(id, price, 'none')).rejects.toMatchObject({ code: 'lock_timeout' });
    on.at(half);
    await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund: 'none', refundAmountCents: null });
    await expect(changeTo(id, price, 'none')).rejects.toMatchObject({ code: 'subscription_not_updatable' });
  });

  it('a price that does not recur or is not there, at its place, and a total that no card can pay', async () => {
    const { id, priceIds } = await soldAnd(0);
    const refusal = (priceId: string) => ({
      items: [
        { priceId: priceIds[0] ?? '', quantity: 1 },
        { priceId, quantity: 1 },
      ],
    });
    const at = (type: string, place = ['1', 'price']) => ({
      violations: [expect.objectContaining({ type, loc: ['body', 'subscription', 'items', ...place] })],
    });
    await expect(update(id, refusal(on.peers.price({ recurring: null })))).rejects.toMatchObject(
      at('recurring_price_required'),
    );
    await expect(update(id, refusal(newId('price')))).rejects.toMatchObject(at('price_not_found'));
    await expect(update(id, refusal(on.peers.price({ recurring: { interval: 'year' } })))).rejects.toMatchObject(
      at('value_error'),
    );
    await expect(update(id, refusal(on.peers.price({ unitAmountCents: 99_999_999 })))).rejects.toMatchObject(
      at('amount_too_large', []),
    );
    expect(await pendingOf(id)).toEqual([]);
  });

  it('prorations that no card can pay with the next period [D14.185]', async () => {
    const items = [{ unitAmountCents: 50_000_000, quantity: 1 }];
    const { subscriptionId: id } = await sell(on, scope, { items });
    await runAt(may);
    on.at('2026-05-16T12:00:00.000Z');
    const price = on.peers.price({ unitAmountCents: 90_000_000 });
    await expect(changeTo(id, price, 'create_prorations')).rejects.toMatchObject({
      violations: [expect.objectContaining({ type: 'amount_too_large' })],
    });
    expect(await pendingOf(id)).toEqual([]);
    await changeTo(id, price, 'always_invoice');
    expect((await totalsOf(id)).at(-1)).toBe(20_000_000);
  });

  it('prorations of a period whose price is not known, and more changes than an invoice has lines [D14.188]', async () => {
    const { subscriptionId: id } = await sell(on, scope, { items: [{}, {}] });
    const price = on.peers.price();
    await expect(changeTo(id, price, 'always_invoice')).rejects.toMatchObject({ status: 422 });
    await changeTo(id, price, 'none');
    const { id: other, priceIds } = await soldAnd(0);
    const [priceId = ''] = priceIds;
    for (let quantity = 100; quantity < 200; quantity++) await update(other, { items: [{ priceId, quantity }] });
    await expect(update(other, { items: [{ priceId, quantity: 1 }] })).rejects.toMatchObject({ status: 422 });
    await update(other, { items: [{ priceId, quantity: 1 }], prorationBehavior: 'none' });
  });

  it('in the database: an invoice that does not count its credits, a credit that is used twice, and a changed proration', async () => {
    const { id, price, invoiceId } = await soldAnd(6_000);
    await changeTo(id, price, 'create_prorations');
    const [credit, charge] = await pendingProrations(on.database, scope, id);
    const change = (text: string, of = credit) =>
      on.test.admin(`update billing.prorations set ${text} where id = $1`, [of?.id]);
    await expect(change('left_cents = left_cents - 1')).rejects.toEqual(refusedBy('proration_is_carried_once'));
    await expect(change('left_cents = left_cents + 1')).rejects.toEqual(refusedBy('left_within_amount'));
    await expect(change('left_cents = 1', charge)).rejects.toEqual(refusedBy('charge_is_whole'));
    await expect(change('amount_cents = 1')).rejects.toEqual(refusedBy('proration_is_final'));
    const use = (eligible: boolean) =>
      on.test.admin(
        `with used as (update billing.prorations set left_cents = left_cents - 1 where id = $3)
         insert into billing.invoice_credits (account_id, test_mode, invoice_id, proration_id, amount_cents, eligible)
         values ($1, true, $2, $3, 1, $4)`,
        [scope.accountId, invoiceId, credit?.id, eligible],
      );
    await expect(use(true)).rejects.toEqual(refusedBy('invoice_is_the_sum_of_its_lines'));
    await expect(use(false)).rejects.toEqual(refusedBy('proration_is_carried_once'));
    await runAt(may);
    const { invoice } = await read(id);
    await expect(
      on.test.admin(
        `insert into billing.invoice_lines select (jsonb_populate_record(l, jsonb_build_object('position', 9))).* from billing.invoice_lines l
          where invoice_id = $1 and proration_id is not null`,
        [invoice.id],
      ),
    ).rejects.toEqual(refusedBy('invoice_lines_one_of_a_proration'));
    await expect(withTx(on.database, scope, (tx) => returnCredits(tx, scope, id, invoice.id))).rejects.toEqual(
      refusedBy('proration_is_carried_once'),
    );
  });
});

describe('a crash in the middle of a change of items', () => {
  it.each([
    'subscription.items_priced',
    'subscription.changed',
    'invoice_charge.begun',
    'invoice_charge.answered',
    'invoice_charge.before_commit',
    'invoice_charge.recorded',
  ])('at %s leaves it to be charged once by the same request', async (name) => {
    const { id, price } = await soldAnd(6_000);
    turnFailpointsOn();
    armFailpoint(name, { action: 'error', skip: 0 });
    await changeTo(id, price, 'always_invoice').catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    turnFailpointsOff();
    on.at(new Date(Date.parse(half) + 120_000));
    await runAt(new Date(Date.parse(half) + 120_000).toISOString());
    await changeTo(id, price, 'always_invoice');
    const { subscription, invoice } = await read(id);
    expect([subscription.status, invoice.status, subscription.items[0]?.priceId]).toEqual(['active', 'paid', price]);
    expect(await invoicesOf(id)).toHaveLength(2);
    expect(on.peers.takenOf(invoice.id)).toBe(invoice.totalCents);
    expect(await pendingOf(id)).toEqual([]);
  });

  it('leaves a past due subscription as it was', async () => {
    const { subscriptionId: id } = await pastDue();
    await expect(changeTo(id, on.peers.price(), 'create_prorations')).rejects.toMatchObject({
      code: 'subscription_not_updatable',
    });
    await changeTo(id, on.peers.price(), 'none');
    expect((await read(id)).subscription.status).toBe('past_due');
  });
});

describe('the figures of Stripe’s documentation [D14.263]', () =>
  stripeCases(
    () => on,
    () => scope,
  ));
