import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { invoiceStates } from '../src/domain/invoice-states.ts';
import { subscriptionStates } from '../src/domain/subscription-states.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription, listSubscriptions } from '../src/store/subscriptions.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';

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

const events = (id: string) =>
  on.test.admin<{ type: string }>('select type from billing.outbox where aggregate_id = $1 order by aggregate_seq', [
    id,
  ]);
const cancel = (id: string, parts: Partial<Parameters<typeof cancelSubscription>[3]> = {}) =>
  cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund: 'none', refundAmountCents: null, ...parts });

describe('starting a subscription', () => {
  it('makes it and its paid first invoice under the session’s ids, once, with its events [D14.19]', async () => {
    const { subscriptionId, invoiceId, sessionId } = await sell(on, scope);
    const subscription = await findSubscription(on.database, scope, subscriptionId);
    expect(subscription).toMatchObject({ status: 'active', latestInvoiceId: invoiceId, checkoutSessionId: sessionId });
    expect(subscription?.items).toMatchObject([{ quantity: 2, unitAmountCents: 1_500 }]);
    expect(await findInvoice(on.database, scope, invoiceId)).toMatchObject({ status: 'paid', totalCents: 3_000 });
    expect((await events(subscriptionId)).map(({ type }) => type)).toEqual(['customer.subscription.created']);
    expect((await events(invoiceId)).map(({ type }) => type)).toEqual([
      'invoice.created',
      'invoice.finalized',
      'invoice.paid',
    ]);
  });

  it('is seen by its own account and mode only', async () => {
    const { subscriptionId } = await sell(on, scope);
    for (const other of [
      { ...scope, testMode: false },
      { ...scope, accountId: newId('account') },
    ]) {
      expect(await findSubscription(on.database, other, subscriptionId)).toBeUndefined();
      expect((await listSubscriptions(on.database, other, { limit: 10 }, {})).subscriptions).toEqual([]);
    }
  });
});

it('is listed by its status and its customer [SUB-4]', async () => {
  const [one, other] = [await sell(on, scope), await sell(on, scope)];
  await cancel(one.subscriptionId, {});
  const listed = async (of: Parameters<typeof listSubscriptions>[3]) =>
    (await listSubscriptions(on.database, scope, { limit: 10 }, of)).subscriptions.map(({ id }) => id).sort();
  const both = [one.subscriptionId, other.subscriptionId].sort();
  expect(await listed({})).toEqual(both);
  expect(await listed({ status: 'canceled' })).toEqual([one.subscriptionId]);
  expect(await listed({ customerId: other.customerId })).toEqual([other.subscriptionId]);
  expect(await listed({ customerId: other.customerId, status: 'canceled' })).toEqual([]);
});

describe('canceling a subscription', () => {
  it('asks for the refund by a command under an operation id, in the same transaction [SUB-2]', async () => {
    const { subscriptionId } = await sell(on, scope);
    await cancel(subscriptionId, { refund: 'full' });
    expect((await events(subscriptionId)).map(({ type }) => type)).toEqual([
      'customer.subscription.created',
      'customer.subscription.deleted',
      'command.refund',
    ]);
  });

  it('cancels once when asked several times at once', async () => {
    const { subscriptionId } = await sell(on, scope);
    const answers = await Promise.allSettled([1, 2, 3].map(() => cancel(subscriptionId, { refund: 'full' })));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await events(subscriptionId)).filter(({ type }) => type === 'command.refund')).toHaveLength(1);
  });

  it('ends at the end of the period when asked to, and not before [SUB-3, EVT-4]', async () => {
    const { subscriptionId } = await sell(on, scope);
    await cancel(subscriptionId, { atPeriodEnd: true });
    on.at('2026-04-30T23:59:59.999Z');
    await runDueSubscriptions(on.context);
    expect((await findSubscription(on.database, scope, subscriptionId))?.status).toBe('active');
    on.at('2026-05-01T00:00:00.000Z');
    await runDueSubscriptions(on.context);
    const ended = await findSubscription(on.database, scope, subscriptionId);
    expect(ended).toMatchObject({ status: 'canceled', canceledAt: new Date('2026-05-01T00:00:00.000Z') });
    expect((await events(subscriptionId)).at(-1)?.type).toBe('customer.subscription.deleted');
  });

  it('ends by itself when it was sold for one period', async () => {
    const { subscriptionId } = await sell(on, scope, { cancelAtPeriodEnd: true });
    on.at('2026-05-02T00:00:00.000Z');
    await runDueSubscriptions(on.context);
    expect((await findSubscription(on.database, scope, subscriptionId))?.status).toBe('canceled');
  });
});

describe('what the database alone refuses', () => {
  it('moves that are not in the state table, in every pair [STATE-1, D14.289]', async () => {
    const { subscriptionId } = await sell(on, scope);
    for (const from of subscriptionStates.states) {
      for (const to of subscriptionStates.states) {
        if (from === to) continue;
        const dated = (status: string) => (status === 'canceled' ? 'now()' : 'null');
        const expires = (status: string) => (status === 'incomplete' ? 'now()' : 'null');
        await on.test.admin('alter table billing.subscriptions disable trigger guard_subscription');
        await on.test.admin(
          `update billing.subscriptions set status = '${from}', canceled_at = ${dated(from)}, expires_at = ${expires(from)}, payment_at = now() where id = $1`,
          [subscriptionId],
        );
        await on.test.admin('alter table billing.subscriptions enable trigger guard_subscription');
        const move = on.test.admin(
          `update billing.subscriptions set status = '${to}', canceled_at = ${dated(to)}, expires_at = ${expires(to)} where id = $1`,
          [subscriptionId],
        );
        if (subscriptionStates.canMove(from, to)) await expect(move).resolves.toBeDefined();
        else await expect(move).rejects.toMatchObject({ constraint: 'subscription_state_table' });
      }
    }
  });

  it('a second invoice for a period, and one that was paid with more than its total', async () => {
    const { invoiceId } = await sell(on, scope);
    const copy = `insert into billing.invoices select (jsonb_populate_record(i, jsonb_build_object('id', $2::text, 'number', null))).* from billing.invoices i where id = $1`;
    await expect(on.test.admin(copy, [invoiceId, newId('invoice')])).rejects.toMatchObject({
      constraint: 'invoices_one_of_a_period',
    });
    await expect(
      on.test.admin('update billing.invoices set amount_paid_cents = total_cents + 1 where id = $1', [invoiceId]),
    ).rejects.toMatchObject({
      code: '23514',
    });
  });

  it('moves of an invoice that are not in its state table, in every pair [STATE-1]', async () => {
    const { invoiceId } = await sell(on, scope);
    const paid = (status: string) => (status === 'paid' ? 'now()' : 'null');
    for (const from of invoiceStates.states) {
      for (const to of invoiceStates.states) {
        if (from === to) continue;
        await on.test.admin('alter table billing.invoices disable trigger guard_invoice');
        await on.test.admin(`update billing.invoices set status = '${from}', paid_at = ${paid(from)} where id = $1`, [
          invoiceId,
        ]);
        await on.test.admin('alter table billing.invoices enable trigger guard_invoice');
        const move = on.test.admin(
          `update billing.invoices set status = '${to}', paid_at = ${paid(to)} where id = $1`,
          [invoiceId],
        );
        if (invoiceStates.canMove(from, to)) await expect(move).resolves.toBeDefined();
        else await expect(move).rejects.toMatchObject({ constraint: 'invoice_state_table' });
      }
    }
  });

  it.each([
    ['total', 'total_cents = total_cents + 1, amount_paid_cents = amount_paid_cents + 1', 'invoice_is_final'],
    ['period', "period_end = period_end + interval '1 day'", 'invoice_is_final'],
    ['number', 'number = number + 1', 'invoice_is_final'],
    ['payments', 'amount_paid_cents = amount_paid_cents - 1', 'invoice_stays_paid'],
  ])('a change of the %s of an invoice', async (_, change, constraint) => {
    const { invoiceId } = await sell(on, scope);
    await expect(
      on.test.admin(`update billing.invoices set ${change} where id = $1`, [invoiceId]),
    ).rejects.toMatchObject({ constraint });
  });

  const charge = (invoiceId: string, parts: { leg?: string; amount?: number; status?: string } = {}) =>
    on.test.admin(
      `insert into billing.invoice_charges (account_id, test_mode, id, invoice_id, leg, backup, payment_method_id, amount_cents, status, acting_at, settled_at)
       values ($1, true, $2, $3, $4, false, 'fpm_x', $5, $6, now(), case when $6 = 'pending' then null else now() end)`,
      [
        ...[scope.accountId, newId('charge_attempt'), invoiceId],
        ...[parts.leg ?? 'other', parts.amount ?? 1_000, parts.status ?? 'succeeded'],
      ],
    );

  it('charges of an invoice beyond its total, a second one of a part, two at once, and a health card for what is not eligible', async () => {
    const { invoiceId } = await sell(on, scope);
    await expect(charge(invoiceId, { amount: 3_001 })).rejects.toMatchObject({ constraint: 'charges_within_invoice' });
    await expect(charge(invoiceId, { leg: 'health' })).rejects.toMatchObject({
      constraint: 'health_charge_within_eligible',
    });
    await charge(invoiceId, { status: 'pending' });
    await expect(charge(invoiceId)).rejects.toMatchObject({ constraint: 'invoice_charges_one_of_a_leg' });
    const other = await sell(on, scope);
    await on.test.admin('alter table billing.invoices disable trigger guard_invoice');
    await on.test.admin('update billing.invoices set eligible_cents = 2000 where id = $1', [other.invoiceId]);
    await on.test.admin('alter table billing.invoices enable trigger guard_invoice');
    await charge(other.invoiceId, { leg: 'health', status: 'pending' });
    await expect(charge(other.invoiceId, { status: 'pending' })).rejects.toMatchObject({
      constraint: 'invoice_charges_one_pending',
    });
    await expect(charge(other.invoiceId, { amount: 2_001 })).rejects.toMatchObject({
      constraint: 'charges_within_invoice',
    });
  });

  it('an invoice that was paid something else than its charges, of one statement or of several [D14.301]', async () => {
    const { invoiceId, subscriptionId } = await sell(on, scope);
    const refused = { code: '23514', constraint: 'invoice_is_paid_by_its_charges' };
    // What a session paid has no charges here, and a charge would pay it again.
    await expect(charge(invoiceId, { amount: 3_000 })).rejects.toMatchObject(refused);
    const copyAs = (id: string, paid: number) =>
      on.test.admin(
        `insert into billing.invoices select (jsonb_populate_record(i, jsonb_build_object('id', $2::text, 'number', null, 'status', 'open', 'paid_at', null,
           'amount_paid_cents', $3::bigint, 'checkout_session_id', null, 'period_start', '2026-04-02'))).* from billing.invoices i where id = $1`,
        [invoiceId, id, paid],
      );
    const open = newId('invoice');
    await expect(copyAs(open, 1_000)).rejects.toMatchObject(refused);
    await copyAs(open, 0);
    await expect(charge(open)).rejects.toMatchObject(refused);
    await charge(open, { status: 'pending' });
    const settle = `update billing.invoice_charges set status = 'succeeded', settled_at = now() where invoice_id = '${open}'`;
    const pay = (paid: number) => `update billing.invoices set amount_paid_cents = ${paid} where id = '${open}'`;
    for (const text of [settle, pay(1_000), `${settle}; ${pay(999)}`, `${pay(1_001)}; ${settle}`]) {
      await expect(on.test.admin(text)).rejects.toMatchObject(refused);
    }
    await on.test.admin(`${settle}; ${pay(1_000)}`);
    const [row] = await on.test.admin(
      'select amount_paid_cents::int from billing.invoices where subscription_id = $1 and id = $2',
      [...[subscriptionId, open]],
    );
    expect(row).toEqual({ amount_paid_cents: 1_000 });
  });

  it('a latest invoice that is of another subscription, or is not there [D14.302]', async () => {
    const [{ subscriptionId: id, invoiceId }, other] = [await sell(on, scope), await sell(on, scope)];
    const refused = { code: '23514', constraint: 'latest_invoice_is_its_own' };
    const point = (to: string | null) =>
      on.test.admin('update billing.subscriptions set latest_invoice_id = $2 where id = $1', [id, to]);
    for (const to of [other.invoiceId, newId('invoice')]) await expect(point(to)).rejects.toMatchObject(refused);
    await point(null);
    await expect(point(other.invoiceId)).rejects.toMatchObject(refused);
    await point(invoiceId);
    const copy = on.test.admin(
      `insert into billing.subscriptions select (jsonb_populate_record(s, jsonb_build_object('id', $2::text, 'checkout_session_id', null))).*
         from billing.subscriptions s where id = $1`,
      [id, newId('subscription')],
    );
    await expect(copy).rejects.toMatchObject(refused);
  });

  it('a charge whose outcome or amount changes', async () => {
    const { invoiceId } = await sell(on, scope);
    await charge(invoiceId, { status: 'pending' });
    const change = (text: string) =>
      on.test.admin(`update billing.invoice_charges set ${text} where invoice_id = $1`, [invoiceId]);
    await expect(change("amount_cents = 1, status = 'declined', settled_at = now()")).rejects.toMatchObject({
      constraint: 'invoice_charge_is_final',
    });
    await change("status = 'declined', settled_at = now()");
    await expect(change("status = 'succeeded'")).rejects.toMatchObject({ constraint: 'invoice_charge_state_table' });
  });

  it('lines that do not sum to their invoice', async () => {
    const { invoiceId } = await sell(on, scope);
    const line = (total: number) =>
      on.test.admin(
        `insert into billing.invoice_lines (account_id, test_mode, invoice_id, position, subscription_item_id, price_id, quantity, unit_amount_cents,
           subtotal_cents, discount_cents, tax_cents, shipping_cents, total_cents, eligible_cents, rule, rule_version, rationale)
         values ($1, true, $2, 0, 'fsubi_x', 'fprice_x', 1, $3, $3, 0, 0, 0, $3, 0, 'none', '', '')`,
        [scope.accountId, invoiceId, total],
      );
    await expect(line(2_999)).rejects.toMatchObject({ constraint: 'invoice_is_the_sum_of_its_lines' });
    await line(3_000);
  });

  it('a second invoice that is open, and a past due subscription that is never charged again', async () => {
    const { subscriptionId, invoiceId } = await sell(on, scope);
    const copy = `insert into billing.invoices select (jsonb_populate_record(i, jsonb_build_object('id', $2::text, 'number', null, 'status', 'open',
      'paid_at', null, 'amount_paid_cents', 0, 'period_start', $3::text))).* from billing.invoices i where id = $1`;
    await on.test.admin(copy, [invoiceId, newId('invoice'), '2026-04-02']);
    await expect(on.test.admin(copy, [invoiceId, newId('invoice'), '2026-04-03'])).rejects.toMatchObject({
      constraint: 'invoices_one_open',
    });
    await expect(
      on.test.admin(`update billing.subscriptions set status = 'past_due' where id = $1`, [subscriptionId]),
    ).rejects.toMatchObject({ constraint: 'past_due_is_charged' });
  });

  it('a test clock that goes back', async () => {
    const id = newId('test_clock');
    await on.test.admin(
      `insert into billing.test_clocks (account_id, test_mode, id, frozen_time, status, created_at) values ($1, true, $2, now(), 'ready', now())`,
      [scope.accountId, id],
    );
    await expect(
      on.test.admin(`update billing.test_clocks set frozen_time = frozen_time - interval '1 s' where id = $1`, [id]),
    ).rejects.toMatchObject({
      constraint: 'test_clock_goes_forward',
    });
  });
});
