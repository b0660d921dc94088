import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { numbers, openCheckoutTab, phone, stopLongTimers } from '../src/browser/checkout-tab.ts';
import type { Json } from '../src/records.ts';

interface Stack {
  readonly browser: Browser;
  readonly shopUrl: string;
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  eligibleOnly(): Json;
  stateOf(id: string): Promise<Json>;
}

/** How the checkout page leaves for the shop after a payment. No timer of the page runs for longer than a second and a half here. */
export function leavingPageTests(stack: () => Stack): void {
  async function paid(fields: Json) {
    const { browser, shopUrl, newSession, eligibleOnly } = stack();
    const session = await newSession({ ...eligibleOnly(), ...fields });
    const tab = await openCheckoutTab(browser, session.url, phone, (context) => context.addInitScript(stopLongTimers));
    await tab.type('health', numbers.hsa);
    const { asked } = await tab.stays(shopUrl);
    await tab.pay();
    await tab.says('your payment is complete');
    return { ...session, tab, asked, doneUrl: `${shopUrl}/done?session=${session.id}` };
  }

  describe('after a payment the checkout page', () => {
    it('leaves for the shop at once where the shop has nothing to say [D14.82, D14.373]', async () => {
      const { tab, asked, doneUrl } = await paid({});
      expect(await asked).toBe(doneUrl);
      await tab.says('You are going back to');
      await tab.close();
    });

    it('stays with the message of the shop until the shopper leaves [D14.82, D14.373]', async () => {
      const message = 'We ship on Monday. Keep the box for three weeks.';
      const { id, url, tab, asked, doneUrl } = await paid({ custom_text: { after_submit: { message } } });
      await tab.says(message);
      expect(await tab.page.getByText('You are going back to').count()).toBe(0);
      await tab.inspect('message-of-shop-phone');
      let hasAsked = false;
      void asked.then(() => {
        hasAsked = true;
      });
      // The page leaves in the render that says so or not at all: two frames and a request of its own come after that.
      await tab.page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      await tab.page.evaluate('fetch(location.href).then(({ status }) => status)');
      expect(hasAsked).toBe(false);
      expect(tab.page.url()).toBe(url);
      expect(await stack().stateOf(id)).toMatchObject({ status: 'complete' });
      await tab.page.getByRole('link', { name: 'Back to' }).click();
      expect(await asked).toBe(doneUrl);
      await tab.close();
    });
  });
}
