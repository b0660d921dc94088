import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { formsOf, hasForm, placesWith } from '../src/browser/card-canaries.ts';
import { numbers, openCheckoutTab, phone } from '../src/browser/checkout-tab.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { make, newCustomer, type Shop } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  readonly shop: Shop;
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  stateOf(id: string): Promise<Json>;
  chargesOf(id: string): Promise<number[]>;
}

const noAmounts = { shipping_options: null, tax_rate: null, fees: [] };

/** The checkout page where it saves cards and charges nothing. */
export function savedCardPageTests(stack: () => Stack): void {
  const api = () => stack().eligo.api();

  describe('the checkout page that saves cards', () => {
    it('saves one card in setup mode [D14.82]', async () => {
      const customer = await newCustomer(api(), {});
      const { id, url } = await stack().newSession({ mode: 'setup', customer, line_items: [], ...noAmounts });
      const tab = await openCheckoutTab(stack().browser, url, phone);
      await tab.type('health', numbers.hsa);
      await tab.inspect('setup-phone');
      await tab.page.getByText('Leave without saving a card').click();
      await tab.inspect('setup-cancel-phone');
      await tab.page.getByText('Stay here').click();
      await tab.pay();
      await tab.says('Your payment details are saved');
      expect(await stack().stateOf(id)).toMatchObject({ status: 'complete' });
      await tab.close();
    });

    it('saves a health card and another one in setup mode, neither may be left empty, and no number reaches Eligo [D14.81, D14.173]', async () => {
      const customer = await newCustomer(api(), {});
      const { id, url } = await stack().newSession({ mode: 'setup', customer, line_items: [], ...noAmounts });
      const tab = await openCheckoutTab(stack().browser, url, phone);
      const sent: string[] = [];
      tab.page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().endsWith('/pay')) sent.push(request.postData() ?? '');
      });
      await tab.page.getByLabel('HSA or FSA card, and another card').check();
      await tab.type('health', numbers.hsa);
      await tab.card('other').locator('input').first().waitFor();
      expect(await tab.page.getByText('You can leave this card empty').count()).toBe(0);
      await tab.page.getByText('Save both cards').click();
      await tab.card('other').getByText('Enter the whole card number').waitFor();
      expect(sent).toEqual([]);
      await tab.type('other', numbers.credit);
      await tab.inspect('setup-both-phone');
      await tab.page.getByText('Save both cards').click();
      await tab.says('Your payment details are saved');
      expect(await stack().stateOf(id)).toMatchObject({ status: 'complete' });
      expect(sent).toHaveLength(1);
      const { body } = await api().get(`/v1/customers/${customer}/payment_methods`);
      expect(records(body, 'payment_methods').map((method) => record(method, 'card').hsa_fsa)).toEqual([false, true]);
      // The search finds what is there.
      const found = await placesWith(stack().eligo, [id]);
      expect(found).toEqual(expect.arrayContaining(['checkout.sessions', 'checkout.outbox']));
      for (const forms of [numbers.hsa, numbers.credit].map(formsOf)) {
        expect(await placesWith(stack().eligo, forms)).toEqual([]);
        expect(hasForm(sent.join(), forms)).toBe(false);
      }
      await tab.close();
    });

    it('saves a card after its bank has asked on the page, also after a reload, beside a health card [D14.170]', async () => {
      const customer = await newCustomer(api(), {});
      const { id, url } = await stack().newSession({ mode: 'setup', customer, line_items: [], ...noAmounts });
      const tab = await openCheckoutTab(stack().browser, url, phone);
      const bank = tab.page.locator('section.authentication').frameLocator('iframe');
      await tab.page.getByLabel('HSA or FSA card, and another card').check();
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.authentication);
      await tab.page.getByText('Save both cards').click();
      await tab.says('Your bank asks you to confirm that this card may be saved');
      await bank.getByText('No, refuse it').click();
      await tab.says('could not confirm that this card is yours');
      await tab.inspect('bank-refused-saved-phone');
      await tab.page.getByLabel('HSA or FSA card, and another card').check();
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.authentication);
      await tab.page.getByText('Save both cards').click();
      await bank.getByText('is this payment yours').waitFor();
      await tab.inspect('bank-saved-phone');
      await tab.page.reload();
      await bank.getByText('Yes, it is mine').click();
      await tab.says('Your payment details are saved');
      expect(await stack().stateOf(id)).toMatchObject({ status: 'complete' });
      expect(await stack().chargesOf(id)).toEqual([]);
      await tab.close();
    });

    it('begins a subscription with a trial without a charge [D14.82]', async () => {
      const customer = await newCustomer(api(), {});
      const monthly = await make(api(), '/v1/prices', 'price', {
        product: stack().shop.eligibleProductId,
        unit_amount: 1_900,
        recurring: { interval: 'month', interval_count: 1, trial_period_days: 14 },
      });
      const { id, url } = await stack().newSession({
        mode: 'subscription',
        customer,
        line_items: [{ price: text(monthly, 'price_id'), quantity: 1 }],
        ...noAmounts,
      });
      const tab = await openCheckoutTab(stack().browser, url, phone);
      await tab.type('health', numbers.hsa);
      await tab.inspect('trial-phone');
      await tab.type('health', numbers.insufficient);
      await tab.pay();
      await tab.says('The card was not saved');
      await tab.says('declined the card because it does not have enough money. Use another card.');
      expect(await tab.page.getByText('No card was charged').count()).toBe(0);
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('Your free trial has begun');
      expect(await stack().stateOf(id)).toMatchObject({ status: 'complete', amount_received: 0 });
      expect(await stack().chargesOf(id)).toEqual([]);
      await tab.close();
    });
  });
}
