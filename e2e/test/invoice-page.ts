import type { Constellation } from '@eligo/testkit';
import type { Browser, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { type CheckoutTab, desktop, numbers, openCheckoutTab, phone } from '../src/browser/checkout-tab.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { make, newCard, newCustomer, type Shop } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  readonly shop: Shop;
}

// Longer than a line of the page, with a word that is longer than a line of a phone.
const longName = `Towels of unbleached organic cotton for sensitive skin, ${'hand-stitched-'.repeat(6)}in a set of twelve`;

/** The payment page of an invoice: a renewal was declined, and the customer opens the link. */
export function invoicePageTests(stack: () => Stack): void {
  const api = () => stack().eligo.api();

  /** A trial of an eligible and another item has ended with a card that is declined. */
  async function declined(card: string): Promise<{ id: string; invoice: () => Promise<Json>; url: string }> {
    const { shop } = stack();
    const clock = text(
      await make(api(), '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time: '2030-01-31T00:00:00Z' }),
      'test_clock_id',
    );
    const customer = await newCustomer(api(), { test_clock: clock });
    const towels = await make(api(), '/v1/products', 'product', {
      name: longName,
      hsa_fsa_eligibility: 'not_eligible',
    });
    const prices = [
      { product: shop.eligibleProductId, unit_amount: 1_900 },
      { product: text(towels, 'product_id'), unit_amount: 700 },
    ];
    const items = await Promise.all(
      prices.map((price) => make(api(), '/v1/prices', 'price', { ...price, recurring: { interval: 'month' } })),
    );
    const subscription = await make(api(), '/v1/subscriptions', 'subscription', {
      ...{ customer, trial_period_days: 14, default_payment_method: await newCard(api(), customer, card) },
      items: items.map((price) => ({ price: text(price, 'price_id'), quantity: 1 })),
    });
    await advanceClock(api(), clock, '2030-02-14T00:00:00Z');
    const invoice = async () =>
      records((await api().get(`/v1/invoices?customer=${customer}`)).body, 'invoices')[0] as Json;
    return { id: text(subscription, 'subscription_id'), invoice, url: text(await invoice(), 'hosted_invoice_url') };
  }
  const open = (url: string, options = phone) => openCheckoutTab(stack().browser, url, options);
  const statusOf = async (id: string) =>
    record((await api().get(`/v1/subscriptions/${id}`)).body, 'subscription').status;
  async function chargesOf(invoice: Json): Promise<number[]> {
    const charges = records(await stack().eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
    const paid = charges.filter(
      ({ metadata, status }) => (metadata as Json).invoice === invoice.invoice_id && status === 'succeeded',
    );
    return paid.map(({ amount }) => Number(amount)).toSorted((one, other) => one - other);
  }
  async function opensDocument(tab: CheckoutTab, name: string): Promise<Page> {
    const [document] = await Promise.all([
      tab.context.waitForEvent('page'),
      tab.page.getByRole('link', { name }).click(),
    ]);
    await document.getByText('Towels').first().waitFor();
    return document;
  }
  const bankOf = (tab: CheckoutTab) => tab.page.locator('section.authentication').frameLocator('iframe');

  describe('the payment page of an invoice', () => {
    it('says why a renewal failed, links its documents, takes two cards and mends the subscription [D14.193, D14.230, D14.231]', async () => {
      const { id, invoice, url } = await declined('insufficient_funds');
      expect(await statusOf(id)).toBe('past_due');
      const tab = await open(url);
      await tab.says('does not have enough money');
      await opensDocument(tab, 'View the invoice').then((document) => document.close());
      const pdf = await tab.page.getByRole('link', { name: 'Download a PDF' }).getAttribute('href');
      const answer = await tab.page.request.get(new URL(pdf ?? '', url).href);
      expect(answer.headers()['content-type']).toBe('application/pdf');
      expect((await answer.body()).toString('latin1')).toMatch(/^%PDF-1\./);
      await tab.says('also pay your next renewals');
      // A card that is declined mends nothing, and the page says so and takes another one.
      await tab.page.locator('input[name=way]').nth(1).check();
      await tab.type('other', numbers.declined);
      await tab.pay();
      await tab.says('declined');
      await tab.inspect('invoice-declined-phone');
      expect(await statusOf(id)).toBe('past_due');
      expect(await chargesOf(await invoice())).toEqual([]);
      await tab.page.locator('input[name=way]').nth(0).check();
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.credit);
      await tab.inspect('invoice-phone');
      await tab.pay();
      await tab.says('this invoice is paid');
      await tab.inspect('invoice-paid-phone');
      const document = await opensDocument(tab, 'View the invoice');
      expect(await document.locator('body').textContent()).toContain('$26.00');
      await document.close();
      expect(await statusOf(id)).toBe('active');
      expect(await chargesOf(await invoice())).toEqual([700, 1_900]);
      const subscription = record((await api().get(`/v1/subscriptions/${id}`)).body, 'subscription');
      expect(subscription.backup_payment_method).toMatch(/^fpm_/);
      expect(subscription.backup_payment_method).not.toBe(subscription.default_payment_method);
      await tab.page.reload();
      await tab.says('this invoice is paid');
      await tab.close();
    });

    it('carries out 3-D Secure, also after a reload and a card that the customer gave up, in Spanish [D14.232]', async () => {
      const { id, invoice, url } = await declined('insufficient_funds');
      const tab = await open(url, { ...desktop, colorScheme: 'dark' });
      await tab.page.getByText('Español').click();
      await tab.says('Las tarjetas que escribas aquí');
      await tab.page.getByText('Otra tarjeta', { exact: false }).first().waitFor();
      await tab.page.locator('input[name=way]').nth(1).check();
      await tab.type('other', numbers.authentication);
      await tab.inspect('invoice-desktop-dark');
      await tab.pay();
      await bankOf(tab).getByText('No, ').waitFor();
      await tab.page.locator('section.authentication button').click();
      await tab.says('El último pago no se realizó');
      expect(await chargesOf(await invoice())).toEqual([]);
      await tab.page.locator('input[name=way]').nth(1).check();
      await tab.type('other', numbers.authentication);
      await tab.pay();
      await bankOf(tab).getByText('No, ').waitFor();
      await tab.page.reload();
      await bankOf(tab).locator('button').first().click();
      await tab.says(/this invoice is paid|esta factura está pagada/);
      expect(await statusOf(id)).toBe('active');
      expect(await chargesOf(await invoice())).toEqual([2_600]);
      await tab.close();
    });

    it('of an invoice that was voided takes nothing, and a token of another kind opens none [D14.230]', async () => {
      const { invoice, url } = await declined('insufficient_funds');
      await api().post(`/v1/invoices/${text(await invoice(), 'invoice_id')}/void`, {});
      const tab = await open(url);
      await tab.says('Nothing is due here anymore');
      await tab.inspect('invoice-void-phone');
      await tab.close();
      expect((await fetch(url.replace('/invoice/', '/pay/'))).status).toBe(404);
      const missing = await open(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`);
      await missing.says('This invoice does not exist');
      await missing.page.close();
    });
  });
}
