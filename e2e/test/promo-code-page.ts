import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { type CheckoutTab, desktop, numbers, openCheckoutTab, phone } from '../src/browser/checkout-tab.ts';
import { type Json, record, text } from '../src/records.ts';
import { make } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  stateOf(id: string): Promise<Json>;
  chargesOf(id: string): Promise<number[]>;
}

/** The checkout page of a session whose shopper may enter a promo code. */
export function promoCodePageTests(stack: () => Stack): void {
  const api = () => stack().eligo.api();
  async function newCode(code: string): Promise<() => Promise<unknown>> {
    const coupon = await make(api(), '/v1/coupons', 'coupon', { percent_off: 10, duration: 'once' });
    const fields = { coupon: text(coupon, 'coupon_id'), code, max_redemptions: 1 };
    const made = await make(api(), '/v1/promo_codes', 'promo_code', fields);
    const path = `/v1/promo_codes/${text(made, 'promo_code_id')}`;
    return async () => record((await api().get(path)).body, 'promo_code').times_redeemed;
  }
  const enter = async (tab: CheckoutTab, code: string, label = 'Promo code', apply = 'Apply') => {
    await tab.page.getByLabel(label, { exact: true }).fill(code);
    await tab.page.getByRole('button', { name: apply, exact: true }).click();
  };

  describe('a promo code on the checkout page', () => {
    it('is refused in plain words, entered once, removed, entered again and paid [D14.165, D14.166]', async () => {
      const redeemed = await newCode('Phone10');
      const { id, url } = await stack().newSession({ allow_promotion_codes: true });
      const tab = await openCheckoutTab(stack().browser, url, phone);
      await tab.says('Pay $117.73');
      await enter(tab, 'wrong');
      await tab.says('This code cannot be used');
      expect(await tab.page.evaluate('document.activeElement.id')).toBe('promo-code');
      await tab.inspect('promo-refused-phone');
      const isInspected = Promise.withResolvers<void>();
      await tab.page.route('**/promo-code', async (route) => {
        await isInspected.promise;
        await route.continue();
      });
      await tab.page.getByLabel('Promo code', { exact: true }).fill('phone10');
      await tab.page.getByRole('button', { name: 'Apply', exact: true }).dblclick();
      await tab.says('Updating your order…');
      await tab.inspect('pricing-phone');
      isInspected.resolve();
      await tab.says('Promo code Phone10');
      await tab.inspect('promo-phone');
      expect(await redeemed()).toBe(1);
      await tab.page.reload();
      await tab.page.getByText('Remove promo code Phone10').click();
      await tab.says('Pay $117.73');
      expect(await redeemed()).toBe(0);
      await enter(tab, 'PHONE10');
      await tab.page.getByText('Remove promo code Phone10').waitFor();
      const session = await stack().stateOf(id);
      const total = Number(session.amount_total);
      expect(total).toBeLessThan(11_773);
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.credit);
      await tab.pay();
      await tab.says('your payment is complete');
      const eligible = Number(record(session, 'total_details').amount_iias);
      expect(await stack().chargesOf(id)).toEqual([eligible, total - eligible].sort((one, other) => one - other));
      expect(await redeemed()).toBe(1);
      await tab.close();
    });

    it('that is entered in another tab, in Spanish, changes nothing that is charged unseen [D14.167]', async () => {
      await newCode('MESA10');
      const { id, url } = await stack().newSession({ allow_promotion_codes: true });
      const tab = await openCheckoutTab(stack().browser, url, desktop);
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.credit);
      const other = await openCheckoutTab(stack().browser, url, { ...desktop, locale: 'es-MX' });
      await enter(other, 'mesa10', 'Código promocional', 'Aplicar');
      await other.says('Quitar el código promocional MESA10');
      await other.inspect('promo-spanish-desktop');
      await tab.pay();
      await tab.says('The amount due changed since this page showed it');
      await tab.inspect('promo-changed-desktop');
      expect(await stack().chargesOf(id)).toEqual([]);
      const total = Number((await stack().stateOf(id)).amount_total);
      await tab.says(`$${(total / 100).toFixed(2)}`);
      await tab.pay();
      await tab.says('your payment is complete');
      expect((await stack().chargesOf(id)).reduce((sum, amount) => sum + amount, 0)).toBe(total);
      await tab.close();
      await other.close();
    });
  });
}
