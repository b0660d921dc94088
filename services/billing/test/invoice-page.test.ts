import { withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { readInvoicePage } from '../src/actions/read-invoice-page.ts';
import { resumeInvoicePayment } from '../src/actions/resume-invoice-payment.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findInvoice, lockInvoice, saveInvoice } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, openFixture, type SoldItem, sell, someScope } from './fixture.ts';
import type { CardBehavior } from './peers.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on?.close());

const eligible: SoldItem = { unitAmountCents: 1_000, quantity: 1 };
const other: SoldItem = { unitAmountCents: 500, quantity: 1, eligibility: 'not_eligible' };
const typed = (slot: 'health' | 'other', behavior: CardBehavior = 'pays') => ({
  processorPaymentMethodId: on.peers.typed(behavior),
  slot,
});

/** A subscription whose renewal was declined. */
async function failed(parts: { items?: SoldItem[]; card?: string; backup?: string; behavior?: CardBehavior } = {}) {
  on.at('2026-04-01T00:00:00Z');
  const scope = someScope();
  const card = parts.card ?? on.peers.card(true, parts.behavior ?? 'insufficient_funds');
  const { subscriptionId } = await sell(on, scope, { ...parts, card });
  on.at('2026-05-01T00:00:00Z');
  await runDueSubscriptions(on.context);
  const subscription = () => findSubscription(on.database, scope, subscriptionId);
  const invoiceId = (await subscription())?.latestInvoiceId ?? '';
  return {
    ...{ scope, card, subscriptionId, invoiceId, subscription },
    page: (caller = {}) => readInvoicePage(on.context, { ...callOf(scope), caller } as Call, invoiceId),
    pay: (...cards: ReturnType<typeof typed>[]) => payInvoiceOnPage(on.context, callOf(scope), invoiceId, cards),
    resume: (giveUp = false) => resumeInvoicePayment(on.context, callOf(scope), invoiceId, giveUp),
  };
}

describe('the payment page of an invoice', () => {
  test('shows what is due, what of it a health card pays where the account takes them, and why the payment failed, and the invoice names it [D14.72, D14.230]', async () => {
    const { page, invoiceId } = await failed({ items: [eligible, other], backup: on.peers.card(false) });
    const shown = await page();
    expect(shown).toMatchObject({
      ...{ isPayable: true, isInFlight: false, dueCents: 1_500, healthCardCents: 1_000 },
      invoice: {
        status: 'open',
        declineCode: 'insufficient_funds',
        pageUrl: `https://pay.example/invoice/${invoiceId}`,
      },
      lines: [
        { totalCents: 1_000, interval: 'month', intervalCount: 1 },
        { totalCents: 500, interval: 'month', intervalCount: 1 },
      ],
      payment: { processor: 'sandbox' },
    });
    // The facts of the account come with the call.
    const refused = { isPayable: true, dueCents: 1_500, healthCardCents: 0, payment: { refusesHealthCards: true } };
    expect(await page({ substantiation: '' })).toMatchObject(refused);
  });

  test('charges the typed card at once, with its owner there, and renews with it from then on [D14.231]', async () => {
    const { pay, page, subscription, invoiceId } = await failed();
    const card = typed('health');
    await pay(card);
    expect(await page()).toMatchObject({ isPayable: false, dueCents: 0, invoice: { status: 'paid' } });
    const adopted = on.peers.adoptedAs(card.processorPaymentMethodId);
    expect(await subscription()).toMatchObject({ status: 'active', defaultPaymentMethodId: adopted });
    expect(on.peers.taken.filter((one) => one.invoiceId === invoiceId)).toMatchObject([
      { paymentMethodId: adopted, amountCents: 3_000, onPage: true },
    ]);
    on.at('2026-06-01T00:00:00Z');
    await runDueSubscriptions(on.context);
    expect(on.peers.taken.at(-1)).toMatchObject({ paymentMethodId: adopted, onPage: false });
  });

  test('charges two cards for a mixed invoice and keeps each in its place [D14.231]', async () => {
    const { pay, subscription, invoiceId } = await failed({ items: [eligible, other], backup: on.peers.card(false) });
    const [second, health] = [typed('other'), typed('health')];
    await pay(second, health);
    const [healthId, secondId] = [health, second].map((one) => on.peers.adoptedAs(one.processorPaymentMethodId));
    expect(await subscription()).toMatchObject({
      ...{ status: 'active', defaultPaymentMethodId: healthId, backupPaymentMethodId: secondId },
    });
    const taken = on.peers.taken.filter((one) => one.invoiceId === invoiceId);
    expect(taken.map(({ leg, amountCents }) => [leg, amountCents])).toEqual([
      ['health', 1_000],
      ['other', 500],
    ]);
  });

  test('keeps a health card that has paid its part, and makes the card that pays the rest its backup [D14.231]', async () => {
    const backup = on.peers.card(false, 'insufficient_funds');
    const { pay, page, subscription, card } = await failed({
      ...{ items: [eligible, other], backup, behavior: 'pays' as const },
    });
    expect(await page()).toMatchObject({ dueCents: 500, healthCardCents: 0 });
    const given = typed('other');
    await pay(given);
    expect(await subscription()).toMatchObject({
      ...{ status: 'active', defaultPaymentMethodId: card },
      backupPaymentMethodId: on.peers.adoptedAs(given.processorPaymentMethodId),
    });
  });

  test('does not keep a typed card that did not pay: the invoice was paid by another one [D14.32, D14.231]', async () => {
    const { pay, page, subscription, card, scope, subscriptionId, invoiceId } = await failed();
    const paidWith = on.peers.card(true);
    await on.context.checkout.chargeInvoice(
      {
        ...{ operationId: newId('charge_attempt'), invoiceId, subscriptionId, leg: 'health', amountCents: 3_000n },
        paymentMethodId: paidWith,
      },
      { caller: on.context.callerFor(scope), timeoutMs: 5_000 },
    );
    const given = typed('health');
    await pay(given);
    expect(await page()).toMatchObject({ invoice: { status: 'paid' } });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    expect(await subscription()).toMatchObject({
      ...{ status: 'active', defaultPaymentMethodId: card, backupPaymentMethodId: null },
    });
  });

  test('shows a decline, leaves the schedule and the saved card as they were, and takes another card [D14.231]', async () => {
    const { pay, page, subscription, card } = await failed();
    const before = await subscription();
    await pay(typed('other', 'stolen_card'));
    expect(await page()).toMatchObject({
      isPayable: true,
      invoice: { declineCode: 'stolen_card', paysOnPage: false, refusedPaymentMethodId: null },
    });
    expect(await subscription()).toMatchObject({
      ...{ status: 'past_due', paymentAt: before?.paymentAt, defaultPaymentMethodId: card },
    });
    await pay(typed('other'));
    expect(await page()).toMatchObject({ invoice: { status: 'paid' } });
  });

  test('charges nothing more while the bank is asked, goes on with its answer, and is not charged twice [D14.232]', async () => {
    const { pay, page, resume, subscription, invoiceId } = await failed();
    const card = typed('other', 'asks_bank');
    await pay(card);
    expect(await page()).toMatchObject({
      isPayable: true,
      isInFlight: true,
      payment: { clientSecret: 'pi_1_secret_7q' },
    });
    await pay(typed('other'));
    await runDueSubscriptions(on.context);
    expect(on.peers.takenOf(invoiceId)).toBe(0);
    on.peers.behave(on.peers.adoptedAs(card.processorPaymentMethodId), 'pays');
    await Promise.all([resume(), resume()]);
    expect(await page()).toMatchObject({ invoice: { status: 'paid' } });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    expect(await subscription()).toMatchObject({
      status: 'active',
      defaultPaymentMethodId: on.peers.adoptedAs(card.processorPaymentMethodId),
    });
  });

  test('takes another card when the customer gives the bank up [D14.232]', async () => {
    const { pay, page, resume } = await failed();
    await pay(typed('other', 'asks_bank'));
    await resume(true);
    expect(await page()).toMatchObject({ isInFlight: false, invoice: { failureCode: 'authentication_required' } });
    await pay(typed('other'));
    expect(await page()).toMatchObject({ invoice: { status: 'paid' } });
  });

  test('loses no payment of which an answer was lost, and charges it once [D14.231]', async () => {
    const { pay, page, subscription, invoiceId } = await failed();
    on.peers.fail('lost_after');
    await pay(typed('health'));
    expect(await page()).toMatchObject({ isInFlight: true });
    on.at('2026-05-01T00:02:00Z');
    await runDueSubscriptions(on.context);
    expect(await page()).toMatchObject({ invoice: { status: 'paid' } });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    expect(await subscription()).toMatchObject({ status: 'active' });
  });

  test('takes no card for an invoice that is paid or void [D14.230]', async () => {
    const { pay, page, scope, invoiceId } = await failed();
    await voidInvoice(on.context, callOf(scope), invoiceId);
    await pay(typed('health'));
    expect(await page()).toMatchObject({ isPayable: false, dueCents: 0, payment: undefined });
    expect(on.peers.takenOf(invoiceId)).toBe(0);
  });

  test('takes no more cards after sixty of its charges [D14.231]', async () => {
    const { pay, invoiceId } = await failed();
    await on.test.admin(
      `insert into billing.invoice_charges (account_id, test_mode, id, invoice_id, leg, backup, payment_method_id, amount_cents, status, acting_at,
         settled_at, on_page)
       select account_id, test_mode, id || n, invoice_id, leg, backup, payment_method_id, amount_cents, 'declined', acting_at, settled_at, true
       from billing.invoice_charges cross join generate_series(1, 60) n where invoice_id = $1`,
      [invoiceId],
    );
    await expect(pay(typed('other'))).rejects.toMatchObject({ code: 'invoice_payment_tries_exceeded' });
    expect(on.peers.takenOf(invoiceId)).toBe(0);
  });

  test('the tables refuse a payment on the page without a card, and a second card without the page', async () => {
    const { scope, invoiceId } = await failed();
    const save = (change: object) =>
      withTx(on.database, scope, async (tx) => {
        const invoice = await lockInvoice(tx, scope, invoiceId);
        if (invoice === undefined) throw new Error('No invoice');
        await saveInvoice(tx, scope, invoice, { ...invoice, ...change });
      });
    await expect(save({ paysOnPage: true })).rejects.toThrow('page_payment_names_a_card');
    await expect(save({ payWithBackupPaymentMethodId: 'fpm_x' })).rejects.toThrow('backup_of_a_page_payment');
    expect(await findInvoice(on.database, scope, invoiceId)).toMatchObject({ paysOnPage: false });
  });
});
