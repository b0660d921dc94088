import type { Browser, BrowserContextOptions } from 'playwright-core';

/** What a first visit to a checkout page took until it could be used, in the page's own time since the navigation began. */
export interface FirstUse {
  /** The button that pays can be pressed. */
  readonly buttonMs: number;
  /** The card fields are shown. */
  readonly fieldsMs: number;
  /** What was asked for until then, the document first. */
  readonly requests: readonly FirstRequest[];
}

export interface FirstRequest {
  readonly path: string;
  readonly startMs: number;
  readonly endMs: number;
  /** As it was transferred, with its headers. */
  readonly bytes: number;
}

/** A phone in the middle range on a slow 4G network: bytes per second, and milliseconds of a round trip. */
export const network = {
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
  latency: 150,
  offline: false,
};
const slowdown = 4;

/** Opens a page in a browser that has nothing of it yet, as slowly as that phone. */
export async function firstUse(browser: Browser, url: string, options: BrowserContextOptions): Promise<FirstUse> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  try {
    const page = await context.newPage();
    const devTools = await context.newCDPSession(page);
    await devTools.send('Network.enable');
    await devTools.send('Network.emulateNetworkConditions', network);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    const told = Promise.withResolvers<FirstUse>();
    await page.exposeFunction('tellFirstUse', told.resolve);
    await page.addInitScript(noteFirstUse);
    await page.goto(url, { waitUntil: 'commit' });
    return await told.promise;
  } finally {
    await context.close();
  }
}

// Runs in the browser, before the page's own script.
function noteFirstUse(): void {
  const world = globalThis as unknown as {
    self: unknown;
    top: unknown;
    tellFirstUse(use: FirstUse): void;
    document: { querySelector(selector: string): { clientHeight: number } | null };
    performance: {
      getEntriesByType(type: string): { name: string; startTime: number; responseEnd: number; transferSize: number }[];
    };
    requestAnimationFrame(step: () => void): void;
  };
  if (world.self !== world.top) return;
  let buttonMs: number | undefined;
  const look = () => {
    const { document } = world;
    if (document.querySelector('button.pay:not([aria-disabled=true])') !== null) buttonMs ??= performance.now();
    const frame = document.querySelector('.frame iframe');
    if (buttonMs === undefined || frame === null || frame.clientHeight === 0) return world.requestAnimationFrame(look);
    const entries = ['navigation', 'resource'].flatMap((type) => world.performance.getEntriesByType(type));
    const requests = entries.map(({ name, startTime, responseEnd, transferSize }) => ({
      path: new URL(name).pathname,
      startMs: startTime,
      endMs: responseEnd,
      bytes: transferSize,
    }));
    world.tellFirstUse({ buttonMs, fieldsMs: performance.now(), requests });
  };
  world.requestAnimationFrame(look);
}
