import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { type CheckoutTab, desktop, numbers, openCheckoutTab } from '../src/browser/checkout-tab.ts';
import { type Json, text } from '../src/records.ts';
import { make } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  readonly shopUrl: string;
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  stateOf(id: string): Promise<Json>;
}

/** All that a shopper can do on the checkout page, by a keyboard alone. */
export function keyboardPageTests(stack: () => Stack): void {
  it('takes a promo code, an address, two cards and the terms by the keyboard alone, shows what the shop has to say, and is canceled by it [D14.82]', async () => {
    const { eligo, browser, shopUrl, newSession, stateOf } = stack();
    const coupon = await make(eligo.api(), '/v1/coupons', 'coupon', { percent_off: 10, duration: 'once' });
    const code = { coupon: text(coupon, 'coupon_id'), code: 'KEYS10' };
    await make(eligo.api(), '/v1/promo_codes', 'promo_code', code);
    const { id, url } = await newSession({
      ...{ allow_promotion_codes: true, shipping_address_collection: true },
      custom_text: {
        ...{ payment: { message: 'Cards of all banks are welcome.' } },
        ...{ shipping_address: { message: 'No post office boxes.' } },
        ...{ terms_of_service_checkbox_required: true },
        terms_of_service_acceptance: { message: 'I accept the terms of Demo.' },
      },
    });
    const tab = await openCheckoutTab(browser, url, desktop);
    for (const message of ['Cards of all banks are welcome.', 'No post office boxes.']) await tab.says(message);
    const { keyboard } = tab.page;
    await tab.card('other').locator('#number').waitFor();
    await reach(tab, 'Promo code');
    await keyboard.type('KEYS10');
    await keyboard.press('Enter');
    await tab.says('Promo code KEYS10');
    for (const [field, typed] of [
      ['Street address', '1 Main Street'],
      ['City', 'Springfield'],
      ['State', 'IL'],
      ['ZIP code', '62701'],
    ] as const) {
      await reach(tab, field);
      await keyboard.type(typed);
    }
    for (const [card, number] of [
      ['HSA or FSA card', numbers.hsa],
      ['Other card', numbers.credit],
    ] as const) {
      await reach(tab, card);
      for (const typed of [number.replaceAll(' ', ''), '1239', '123']) {
        await keyboard.type(typed);
        await keyboard.press('Tab');
      }
    }
    await reach(tab, 'I accept the terms of Demo.');
    await keyboard.press('Space');
    await reach(tab, String(await tab.page.locator('button.pay').textContent()));
    await keyboard.press('Enter');
    await tab.says('your payment is complete');
    const paid = await stateOf(id);
    expect(paid).toMatchObject({
      ...{ status: 'complete', amount_received: paid.amount_total },
      shipping_details: { line1: '1 Main Street', city: 'Springfield', state: 'IL', postal_code: '62701' },
    });
    expect(Number(paid.amount_total)).toBeLessThan(11_773);

    const left = await newSession();
    await tab.page.goto(left.url);
    await tab.card('other').locator('#number').waitFor();
    await reach(tab, 'Cancel this order');
    await keyboard.press('Enter');
    await reach(tab, 'Keep paying');
    await keyboard.press('Enter');
    await reach(tab, 'Cancel this order');
    await keyboard.press('Enter');
    await keyboard.press('Shift+Tab');
    expect(await focused(tab)).toBe('Yes, cancel');
    await keyboard.press('Enter');
    await tab.page.waitForURL(`${shopUrl}/cart`);
    expect(await stateOf(left.id)).toMatchObject({ status: 'canceled' });
    await tab.close();
  });
}

// A page of two cards has fewer stops.
const mostStops = 40;

/** Presses Tab until what has this name has the focus. */
async function reach(tab: CheckoutTab, name: string): Promise<void> {
  const passed: string[] = [];
  for (let stops = 0; stops < mostStops; stops += 1) {
    const now = await focused(tab);
    if (now === name) return;
    passed.push(now);
    await tab.page.keyboard.press('Tab');
  }
  throw new Error(`The keyboard does not reach "${name}", but: ${passed.join(', ')}`);
}

/** The name of what has the focus; of a frame, its title. */
function focused(tab: CheckoutTab): Promise<string> {
  return tab.page.evaluate<string>(`(({ labels, title, textContent }) =>
    (labels?.[0]?.textContent || title || textContent || '').trim())(document.activeElement)`);
}
