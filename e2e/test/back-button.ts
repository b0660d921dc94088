import { type Constellation, waitUntil } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { type CheckoutTab, numbers, openCheckoutTab, phone } from '../src/browser/checkout-tab.ts';
import type { Json } from '../src/records.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  /** It shows a page that was left as it was left. */
  readonly shoppersBrowser: Browser;
  readonly shopUrl: string;
  /** A session with one eligible and one other item, whose page has this URL. */
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  eligibleOnly(): Json;
  stateOf(id: string): Promise<Json>;
  chargesOf(id: string): Promise<number[]>;
}

/** The checkout page left and found again by the back and forward buttons of a browser. */
export function backButtonTests(stack: () => Stack): void {
  // From the cart of the shop, where the back button leads to.
  async function comeFromCart(browser: Browser, url: string): Promise<CheckoutTab> {
    const tab = await openCheckoutTab(browser, `${stack().shopUrl}/cart`, phone);
    await tab.page.goto(url);
    return tab;
  }
  async function back(tab: CheckoutTab, to: string): Promise<void> {
    await tab.page.goBack({ waitUntil: 'commit' });
    await arrivesAt(tab, to);
  }
  async function forward(tab: CheckoutTab, to: string): Promise<void> {
    await tab.page.goForward({ waitUntil: 'commit' });
    await arrivesAt(tab, to);
  }
  // A page that was kept does not load: it is there as a whole.
  async function arrivesAt(tab: CheckoutTab, url: string): Promise<void> {
    // Not by `waitForFunction`, which the page's Content-Security-Policy stops at its second look.
    await expect.poll(() => tab.page.evaluate('document.readyState').catch(String)).toBe('complete');
    expect(tab.page.url()).toBe(url);
  }

  describe('the back button on the checkout page', () => {
    it.each([false, true])(
      'leads to the cart and back to the same payment, before and during it, charged once; a page that was left is kept: %s [D14.83, D14.268]',
      async (keepsPages) => {
        const { eligo, browser, shoppersBrowser, shopUrl, newSession, eligibleOnly, chargesOf } = stack();
        const { id, url } = await newSession(eligibleOnly());
        const tab = await comeFromCart(keepsPages ? shoppersBrowser : browser, url);
        await tab.type('health', numbers.hsa);
        await tab.page.evaluate('window.isKept = true');
        await back(tab, `${shopUrl}/cart`);
        await forward(tab, url);
        await tab.page.locator('button.pay:not([aria-disabled=true])').waitFor();
        expect(await tab.page.evaluate('window.isKept === true')).toBe(keepsPages);
        // A page that was kept still has the card in its frame.
        if (!keepsPages) await tab.type('health', numbers.hsa);
        await eligo.sandbox('POST', '/sandbox/faults', {
          fault: { call: 'payment_intents.confirm', kind: 'slow', delay_ms: 2_000, times: 1 },
        });
        await tab.pay();
        await waitUntil(async () => {
          const sending = "select from checkout.charge_attempts where subject_id = $1 and status = 'sending'";
          return (await eligo.database.admin(sending, [id])).length > 0;
        });
        await back(tab, `${shopUrl}/cart`);
        await forward(tab, url);
        await tab.says('your payment is complete');
        expect(await chargesOf(id)).toEqual([6_773]);
        await tab.close();
      },
    );

    it('leads from the shop to a page that is paid, stays and takes nothing again [D14.83, D14.268]', async () => {
      const { browser, shopUrl, newSession, eligibleOnly, chargesOf } = stack();
      const { id, url } = await newSession(eligibleOnly());
      const tab = await comeFromCart(browser, url);
      await tab.type('health', numbers.hsa);
      // Or the page is gone before a slow machine has shown it again.
      await tab.stays(shopUrl);
      await tab.pay();
      await tab.says('You are going back to');
      // As a browser says that has kept the page, and shows it again.
      await tab.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
      await tab.page.getByText('You are going back to').waitFor({ state: 'detached' });
      await tab.page.unrouteAll();
      await tab.page.locator('main a.button').click();
      await tab.page.waitForURL(`${shopUrl}/done?session=${id}`);
      await back(tab, url);
      await tab.says('your payment is complete');
      expect(await tab.page.getByText('You are going back to').count()).toBe(0);
      expect(await tab.page.locator('button.pay').count()).toBe(0);
      await back(tab, `${shopUrl}/cart`);
      await forward(tab, url);
      await forward(tab, `${shopUrl}/done?session=${id}`);
      expect(await chargesOf(id)).toEqual([6_773]);
      await tab.close();
    });

    it('leaves the question of a bank and finds it again, in whichever language it was read, and a page that was paid leads back to the cart [D14.112, D14.268]', async () => {
      const { browser, shopUrl, newSession, chargesOf, stateOf } = stack();
      const { id, url } = await newSession();
      const tab = await comeFromCart(browser, url);
      const bank = tab.page.locator('section.authentication').frameLocator('iframe');
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.authentication);
      await tab.pay();
      await bank.getByText('is this payment yours').waitFor();
      await tab.page.locator('header button[lang=es]').click();
      await bank.locator('html[lang=es]').waitFor();
      // One step, whatever the bank's frame has shown.
      await back(tab, `${shopUrl}/cart`);
      expect(await stateOf(id)).toMatchObject({ status: 'open' });
      await forward(tab, url);
      await tab.leaves();
      await bank.getByText('Yes, it is mine').click();
      await tab.page.waitForURL(`${shopUrl}/done?session=${id}`);
      expect(await chargesOf(id)).toEqual([5_885, 5_888]);
      await back(tab, `${shopUrl}/cart`);
      await forward(tab, `${shopUrl}/done?session=${id}`);
      await tab.close();
    });
  });
}
