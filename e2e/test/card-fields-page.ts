import type { Browser } from 'playwright-core';
import { describe, it } from 'vitest';
import { type CheckoutTab, numbers, openCheckoutTab, phone } from '../src/browser/checkout-tab.ts';

interface Place {
  readonly browser: Browser;
  newSession(): Promise<{ id: string; url: string }>;
}

/** The checkout page whose card fields do not load, or do not answer. */
export function cardFieldsPageTests(place: () => Place): void {
  const alert = (tab: CheckoutTab, text: string) =>
    tab.page.locator('form > [role=alert]').getByText(text, { exact: false }).waitFor();

  describe('a checkout page without card fields', () => {
    it('says at the button that they load, and then that they could not be loaded [D14.82]', async () => {
      const { browser, newSession } = place();
      const { url } = await newSession();
      const tab = await openCheckoutTab(browser, url, phone, async (context) => {
        await context.clock.install();
        // A document that never says that it is there.
        const body = '<!doctype html><html lang="en"><title>Nothing</title>';
        await context.route('**/fields/card?*', (route) => route.fulfill({ contentType: 'text/html', body }));
      });
      await tab.pay();
      await alert(tab, 'Loading the card fields');
      await tab.page.clock.fastForward(20_000);
      await alert(tab, 'The card fields could not be loaded');
      await tab.page.locator('section.card [role=alert]').first().waitFor();
      await tab.close();
    });

    it('says that a card could not be sent where its fields do not answer [D14.82]', async () => {
      const { browser, newSession } = place();
      const { url } = await newSession();
      const tab = await openCheckoutTab(browser, url, phone, (context) => context.clock.install());
      await tab.type('health', numbers.hsa);
      const fields = await tab.page.locator('section[aria-labelledby="health-card"] iframe').elementHandle();
      // The frame is there, and says nothing any more.
      const frame = await fields?.contentFrame();
      await frame?.evaluate('window.parent = { postMessage() {} }');
      await tab.pay();
      await tab.page.locator('button.pay[aria-disabled=true]').waitFor();
      await tab.page.clock.fastForward(20_000);
      await tab.says('The card could not be sent');
      await tab.page.locator('button.pay[aria-disabled=false]').waitFor();
      await tab.close();
    });
  });
}
