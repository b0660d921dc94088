import { type Constellation, waitUntil } from '@eligo/testkit';
import type { APIResponse, Browser, Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { numbers, openCheckoutTab } from '../src/browser/checkout-tab.ts';
import { type Json, text } from '../src/records.ts';
import { make } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  readonly shopUrl: string;
  /** A session with one eligible and one other item, unless `fields` says otherwise. */
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  eligibleOnly(): Json;
  chargesOf(id: string): Promise<number[]>;
}

/** The checkout page when answers are lost, late, or overtaken by others. */
export function lostAnswerTests(stack: () => Stack): void {
  const newSession = (fields: Json = {}) => stack().newSession({ ...stack().eligibleOnly(), ...fields });

  describe('a checkout page whose requests are answered late or never', () => {
    it('finds the outcome of a payment whose answer was lost, and of one during which it was reloaded [D14.83]', async () => {
      const [lost, reloaded] = [await newSession(), await newSession()];
      const tab = await openCheckoutTab(stack().browser, lost.url);
      await tab.page.route('**/pay', async (route) => {
        await route.fetch();
        await route.abort('connectionreset');
      });
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('your payment is complete');
      expect(await stack().chargesOf(lost.id)).toEqual([6_773]);
      await tab.close();

      const slow = await openCheckoutTab(stack().browser, reloaded.url);
      await slow.type('health', numbers.hsa);
      await stack().eligo.sandbox('POST', '/sandbox/faults', {
        fault: { call: 'payment_intents.confirm', kind: 'slow', delay_ms: 6_000, times: 1 },
      });
      await slow.pay();
      await waitUntil(async () => {
        const sending = "select from checkout.charge_attempts where subject_id = $1 and status = 'sending'";
        return (await stack().eligo.database.admin(sending, [reloaded.id])).length > 0;
      });
      // The page is told that its payment is in flight until it is inspected, however long that takes.
      const inFlight = await (await fetch(`${reloaded.url}/session`)).text();
      let isInspected = false;
      await slow.page.route('**/session', (route) =>
        isInspected ? route.continue() : route.fulfill({ contentType: 'application/json', body: inFlight }),
      );
      await slow.page.reload();
      await slow.says('Working on your payment');
      await slow.inspect('working-phone');
      isInspected = true;
      await slow.says('your payment is complete');
      expect(await stack().chargesOf(reloaded.id)).toEqual([6_773]);
      await slow.close();
    });

    it('waits for the outcome of a payment whose request was answered before the processor was known to have charged it [D14.83]', async () => {
      const { id, url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      await tab.type('health', numbers.hsa);
      await stack().eligo.sandbox('POST', '/sandbox/faults', {
        fault: { call: 'payment_intents.confirm', kind: 'drop_after', times: 1 },
      });
      await tab.pay();
      await tab.says('your payment is complete');
      expect(await stack().chargesOf(id)).toEqual([6_773]);
      await tab.close();
    });

    it('says that a request did not arrive, keeps what was typed, and pays the next time [D14.83]', async () => {
      const { id, url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      await tab.page.route('**/pay', (route) => route.abort('connectionreset'), { times: 1 });
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('nothing was charged');
      await tab.inspect('lost-phone');
      await tab.pay();
      await tab.says('your payment is complete');
      expect(await stack().chargesOf(id)).toEqual([6_773]);
      await tab.close();
    });

    it('does not say that nothing was charged while a payment whose answer was lost is still on its way [D14.83]', async () => {
      const { id, url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      let answered: Promise<unknown> | undefined;
      await tab.page.route('**/pay', async (route) => {
        answered = route.fetch();
        await route.abort('connectionreset');
      });
      await tab.type('health', numbers.hsa);
      // Checkout reads the card before it writes that a payment has begun.
      await stack().eligo.sandbox('POST', '/sandbox/faults', {
        fault: { call: 'payment_methods.retrieve', kind: 'slow', delay_ms: 5_000, times: 1 },
      });
      await tab.pay();
      await tab.says('your payment is complete');
      await answered;
      expect(await stack().chargesOf(id)).toEqual([6_773]);
      await tab.close();
    });

    it('says that the service did not answer, and not that the connection was lost [D14.83]', async () => {
      const { url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      const refusal = { status: 503, contentType: 'application/json', body: '{"code":"service_unavailable"}' };
      await tab.page.route('**/pay', (route) => route.fulfill(refusal));
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('This did not work just now, and nothing was charged.');
      await tab.close();
    });

    it('says what to do where too many cards of a network were declined, in both languages [D14.346]', async () => {
      const { id, url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      const body = '{"code":"declined_cards_exceeded"}';
      const refusal = { status: 429, headers: { 'retry-after': '60' }, contentType: 'application/json', body };
      await tab.page.route('**/pay', (route) => route.fulfill(refusal), { times: 1 });
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('Wait a minute and try again, or use another network');
      await tab.page.locator('header button[lang=es]').click();
      await tab.says('Espera un minuto e inténtalo de nuevo, o usa otra red');
      // The card that was typed is still there.
      await tab.pay();
      await tab.says('tu pago está completo');
      expect(await stack().chargesOf(id)).toEqual([6_773]);
      await tab.close();
    });

    it('keeps the outcome of a payment that was made while the page looked for changes [D14.83]', async () => {
      const { id, url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      await tab.type('health', numbers.hsa);
      const { asked } = await tab.stays(stack().shopUrl);
      const answer = await holdLook(tab.page);
      await tab.pay();
      await tab.says('your payment is complete');
      await answer();
      expect(await tab.page.locator('main').textContent()).toContain('your payment is complete');
      expect(await asked).toContain(stack().shopUrl);
      expect(await stack().chargesOf(id)).toEqual([6_773]);
      await tab.close();
    });

    it('says no longer that there is no connection once it has paid over a new one [D14.83]', async () => {
      const { url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url);
      await tab.type('health', numbers.hsa);
      await tab.page.route('**/session', (route) => route.abort('internetdisconnected'));
      await tab.page.evaluate("dispatchEvent(new Event('online'))");
      await tab.says('No connection');
      await tab.stays(stack().shopUrl);
      await tab.pay();
      await tab.says('your payment is complete');
      expect(await tab.page.getByText('No connection').count()).toBe(0);
      await tab.close();
    });

    it('takes a promo code that is entered while the page looks for changes [D14.83, D14.165]', async () => {
      const coupon = await make(stack().eligo.api(), '/v1/coupons', 'coupon', { percent_off: 10, duration: 'once' });
      const fields = { coupon: text(coupon, 'coupon_id'), code: 'WHILE10' };
      await make(stack().eligo.api(), '/v1/promo_codes', 'promo_code', fields);
      const { url } = await newSession({ allow_promotion_codes: true });
      const tab = await openCheckoutTab(stack().browser, url);
      const answer = await holdLook(tab.page);
      await tab.page.getByLabel('Promo code', { exact: true }).fill('while10');
      await tab.page.getByRole('button', { name: 'Apply', exact: true }).click();
      await tab.says('Remove promo code WHILE10');
      await answer();
      expect(await tab.page.locator('main').textContent()).toContain('Remove promo code WHILE10');
      await tab.close();
    });
  });
}

// Has the page look for changes, as when its connection is back. Answers what has the answer arrive at the page that was true when it asked.
async function holdLook(page: Page): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<{ route: Route; response: APIResponse }>();
  // The page gives up a request that takes longer than 15 s, which the test may.
  await page.evaluate('AbortSignal.timeout = () => new AbortController().signal');
  await page.route('**/session', async (route) => held.resolve({ route, response: await route.fetch() }), { times: 1 });
  await page.evaluate("dispatchEvent(new Event('online'))");
  const { route, response } = await held.promise;
  return async () => {
    const arrived = page.waitForResponse('**/session');
    await route.fulfill({ response });
    await (await arrived).finished();
    // Drawn twice: what the page makes of the answer is shown.
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
  };
}
