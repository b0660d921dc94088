import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { numbers, openCheckoutTab } from '../src/browser/checkout-tab.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  /** A session with one eligible and one other item, whose page has this URL. */
  newSession(): Promise<{ id: string; url: string }>;
  chargesOf(id: string): Promise<number[]>;
}

/** The checkout page with a health card that is short of money. */
export function shortCardPageTests(stack: () => Stack): void {
  // As `eligo accounts update --feature` does, without two processes more.
  const asksForParts = (change: 'array_append' | 'array_remove') =>
    stack().eligo.database.admin(
      `update gateway.accounts set features = ${change}(features, 'partial_approvals') where account_id = $1`,
      [stack().eligo.account],
    );

  describe('a health card on the checkout page that is short of money', () => {
    it('pays what it has, as the page says in plain words, and another card pays the rest [D14.183]', async () => {
      await asksForParts('array_append');
      try {
        const { id, url } = await stack().newSession();
        const tab = await openCheckoutTab(stack().browser, url);
        await tab.type('health', numbers.short);
        await tab.type('other', numbers.credit);
        await tab.pay();
        await tab.says('Your HSA or FSA card has only enough money for $25.00 of $58.85. It pays $25.00.');
        await tab.inspect('short-card-phone');
        await tab.page.reload();
        await tab.says('Pay $92.73');
        await tab.page.setViewportSize({ width: 1_280, height: 900 });
        await tab.inspect('short-card-desktop');
        await tab.type('other', numbers.credit);
        await tab.pay();
        await tab.says('your payment is complete');
        expect(await stack().chargesOf(id)).toEqual([2_500, 9_273]);
        await tab.close();
      } finally {
        await asksForParts('array_remove');
      }
    });
  });
}
