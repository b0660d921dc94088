import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { type CheckoutTab, desktop, numbers, openCheckoutTab, openTabIn, phone } from '../src/browser/checkout-tab.ts';
import type { Json } from '../src/records.ts';

interface Stack {
  readonly browser: Browser;
  /** A session with one eligible and one other item, whose page has this URL. */
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  stateOf(id: string): Promise<Json>;
  chargesOf(id: string): Promise<number[]>;
}

const bankOf = (tab: CheckoutTab) => tab.page.locator('section.authentication').frameLocator('iframe');

/** The checkout page with a card whose bank asks the shopper to confirm the payment. */
export function bankPageTests(stack: () => Stack): void {
  async function asked(options = phone): Promise<{ id: string; url: string; tab: CheckoutTab }> {
    const session = await stack().newSession();
    const tab = await openCheckoutTab(stack().browser, session.url, options);
    await tab.type('health', numbers.hsa);
    await tab.type('other', numbers.authentication);
    await tab.pay();
    await tab.says('Confirm with your bank');
    await bankOf(tab).getByText('is this payment yours').waitFor();
    return { ...session, tab };
  }

  describe('a bank that asks on the checkout page', () => {
    it('is answered on the page, also after a reload, and then the payment is complete [D14.112]', async () => {
      const { id, tab } = await asked();
      await tab.inspect('bank-phone');
      expect(await tab.page.evaluate('document.activeElement.tagName')).toBe('H2');
      expect(await stack().chargesOf(id)).toEqual([]);
      await tab.page.reload();
      await bankOf(tab).getByText('Yes, it is mine').click();
      await tab.says('your payment is complete');
      expect(await stack().chargesOf(id)).toEqual([5_885, 5_888]);
      await tab.close();
    });

    it('that is not convinced takes no money, and the page another card, in two tabs [D14.112]', async () => {
      const { id, url, tab } = await asked(desktop);
      const other = await openTabIn(tab.context, url);
      await other.says('Confirm with your bank');
      await other.inspect('bank-desktop');
      await bankOf(other).getByText('No, refuse it').focus();
      await other.page.keyboard.press('Enter');
      await other.says('could not confirm that this payment is yours');
      await other.inspect('bank-refused-desktop');
      await tab.says('could not confirm that this payment is yours');
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.credit);
      await tab.pay();
      await tab.says('your payment is complete');
      expect(await stack().chargesOf(id)).toEqual([5_885, 5_888]);
      await tab.close();
      await other.close();
    });

    it('is left for another card, and then the order can be canceled [D14.112]', async () => {
      const { id, tab } = await asked();
      const refusal = { status: 429, json: { code: 'rate_limited', detail: 'Too many requests' } };
      await tab.page.route('**/authenticate', (route) => route.fulfill(refusal), { times: 1 });
      await tab.page.getByText('Use another card').click();
      await tab.says('Too many tries');
      await tab.page.getByText('Use another card').click();
      await tab.says('Pay again and confirm it');
      await tab.page.getByText('Cancel this order').click();
      await tab.page.getByText('Yes, cancel').click();
      await tab.page.waitForURL('**/cart');
      expect(await stack().stateOf(id)).toMatchObject({ status: 'canceled' });
      expect(await stack().chargesOf(id)).toEqual([]);
      await tab.close();
    });
  });
}
