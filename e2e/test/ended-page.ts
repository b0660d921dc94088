import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { openCheckoutTab } from '../src/browser/checkout-tab.ts';

interface Place {
  readonly eligo: Constellation;
  readonly browser: Browser;
  newSession(): Promise<{ id: string; url: string }>;
}

/** The checkout page of a session on which nothing can be paid. */
export function endedPageTests(place: () => Place): void {
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
}
