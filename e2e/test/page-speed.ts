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
    // On a busy machine the browser may begin a request late; where one waits for another's answer, it does so in each load.
    expect(uses.map(waits)).toContainEqual({ own: ['css', 'js', 'session'], isForScript: false, isShort: true });
    // The processor's share depends on who else uses this machine: it is told, and not held.
    const seconds = (of: (use: FirstUse) => number) => (Math.min(...uses.map(of)) / 1_000).toFixed(2);
    process.stderr.write(
      `checkout page on a slow phone: button after ${seconds((use) => use.buttonMs)} s, card fields after ${seconds((use) => use.fieldsMs)} s\n`,
    );
  });
}

// What a load waits for until the shopper can pay; nothing waits for the page's icon.
function waits({ requests, buttonMs }: FirstUse) {
  const [document, ...others] = requests.filter(({ startMs, path }) => startMs < buttonMs && !path.endsWith('.svg'));
  const own = others.filter(({ path }) => path.startsWith('/pay/'));
  const script = own.find(({ path }) => path.endsWith('.js'));
  const session = own.find(({ path }) => path.endsWith('/session'));
  const bytes = [document, ...own].reduce((sum, one) => sum + (one?.bytes ?? 0), 0);
  return {
    own: own.map(({ path }) => path.replace(/^.*[./]/, '')).sort(),
    // Without the preload only the script asks for the session.
    isForScript: (session?.startMs ?? 0) >= (script?.endMs ?? 0),
    isShort: 2 * network.latency + (bytes / network.downloadThroughput) * 1_000 < 500,
  };
}
