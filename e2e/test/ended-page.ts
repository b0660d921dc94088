import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { desktop, openCheckoutTab } from '../src/browser/checkout-tab.ts';
import { text } from '../src/records.ts';
import { make, type Shop } from '../src/shop.ts';

interface Place {
  readonly eligo: Constellation;
  readonly browser: Browser;
  readonly shop: Shop;
  newSession(): Promise<{ id: string; url: string }>;
}

/** The checkout page where nothing can be paid. */
export function endedPageTests(place: () => Place): void {
  describe('a checkout page on which nothing can be paid', () => {
    it('shows sessions that are over, and one that never was [D14.82]', async () => {
      const { eligo, browser, newSession } = place();
      const [expired, canceled] = [await newSession(), await newSession()];
      await eligo.api().ok('POST', `/v1/checkout/sessions/${expired.id}/expire`);
      await eligo.api().ok('POST', `/v1/checkout/sessions/${canceled.id}/cancel`);
      const tab = await openCheckoutTab(browser, expired.url);
      await tab.says('This checkout has expired');
      await tab.inspect('expired-phone');
      await tab.page.goto(canceled.url);
      await tab.says('This checkout was canceled');
      await tab.inspect('canceled-phone');
      const missing = await tab.page.goto(`${eligo.url}/pay/x`);
      expect(missing?.status()).toBe(404);
      await tab.says('This checkout does not exist');
      await tab.inspect('missing-phone');
      await tab.close();
    });

    it('says in the shopper’s language that a payment link is inactive, or not there, and asks for no session [D14.85]', async () => {
      const { eligo, browser, shop } = place();
      const line_items = [{ price: shop.eligiblePriceId, quantity: 1 }];
      const link = await make(eligo.api(), '/v1/payment_links', 'payment_link', { line_items });
      const body = { payment_link: { active: false } };
      await eligo.api().ok('PATCH', `/v1/payment_links/${text(link, 'payment_link_id')}`, { body });
      const tab = await openCheckoutTab(browser, 'about:blank');
      const asked: string[] = [];
      tab.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      const visit = await tab.page.goto(text(link, 'url'));
      expect(visit?.status()).toBe(410);
      await tab.says('This link is not active');
      await tab.inspect('link-inactive-phone');
      await tab.page.getByText('Español').click();
      await tab.says('Este enlace no está activo');
      expect(asked.filter((path) => path.endsWith('/session'))).toEqual([]);
      await tab.page.goto(`${eligo.url}/buy/x`);
      await tab.says('This link does not exist');
      await tab.close();
    });

    it('says that it cannot be loaded, tries again by itself, and when the shopper asks [D14.83]', async () => {
      const { browser, newSession } = place();
      const { url } = await newSession();
      let isAway = true;
      const tab = await openCheckoutTab(browser, 'about:blank', desktop);
      const answer = { status: 503, contentType: 'application/json', body: '{"code":"service_unavailable"}' };
      await tab.context.route('**/session', (route) => (isAway ? route.fulfill(answer) : route.continue()));
      // A document whose look at the session took too long.
      await tab.context.route(url, async (route) => {
        const response = await route.fetch();
        const whole = await response.text();
        await route.fulfill({ response, body: whole.replace(/<script type="application\/json".*?<\/script>/s, '') });
      });
      await tab.page.goto(url);
      await tab.says('This page could not be loaded');
      await tab.inspect('not-loaded-desktop');
      isAway = false;
      await tab.says('Pay $117.73');
      isAway = true;
      await tab.page.goto(url);
      await tab.says('This page could not be loaded');
      const again = tab.page.waitForRequest(url);
      await tab.page.getByRole('button', { name: 'Try again' }).click();
      await again;
      isAway = false;
      await tab.says('Pay $117.73');
      await tab.context.unrouteAll();
      await tab.close();
    });
  });
}
