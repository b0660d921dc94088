import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { phone } from '../src/browser/checkout-tab.ts';
import { type FirstUse, firstUse, network } from '../src/browser/first-use.ts';

export interface SpeedPlace {
  readonly browser: Browser;
  newSession(): Promise<{ id: string; url: string }>;
}

/** How soon the checkout page can be used on a phone. */
export function pageSpeedTests(place: () => SpeedPlace): void {
  it('waits for two answers one after the other, in half a second of a slow phone network, until it can be paid on [D14.82]', async () => {
    const { browser, newSession } = place();
    const { url } = await newSession();
    const uses: FirstUse[] = [];
    for (let load = 0; load < 3; load += 1) uses.push(await firstUse(browser, url, phone));
    for (const { requests, buttonMs } of uses) {
      const [document, ...others] = requests.filter(
        ({ startMs, path }) => startMs < buttonMs && path !== '/favicon.ico',
      );
      const own = others.filter(({ path }) => path.startsWith('/pay/'));
      expect(own.map(({ path }) => path.replace(/^.*[./]/, '')).sort()).toEqual(['css', 'js', 'session']);
      // None of them waits for another one.
      expect(Math.max(...own.map(({ startMs }) => startMs))).toBeLessThan(Math.min(...own.map(({ endMs }) => endMs)));
      const bytes = [document, ...own].reduce((sum, one) => sum + (one?.bytes ?? 0), 0);
      expect(2 * network.latency + (bytes / network.downloadThroughput) * 1_000).toBeLessThan(500);
    }
    // The processor's share depends on who else uses this machine: it is told, and not held.
    const seconds = (of: (use: FirstUse) => number) => (Math.min(...uses.map(of)) / 1_000).toFixed(2);
    process.stderr.write(
      `checkout page on a slow phone: button after ${seconds((use) => use.buttonMs)} s, card fields after ${seconds((use) => use.fieldsMs)} s\n`,
    );
  });
}
