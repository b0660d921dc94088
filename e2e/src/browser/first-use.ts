import type { Browser, BrowserContextOptions, CDPSession, Page, Request } from 'playwright-core';

/** Whether nothing else runs on this machine, so that its times count. */
export const isMachineOurs = process.env.ELIGO_TEST_SPEED === 'on';

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
export function firstUse(browser: Browser, url: string, options: BrowserContextOptions): Promise<FirstUse> {
  return untilUse(browser, url, options, async (page, devTools) => {
    await devTools.send('Network.enable');
    await devTools.send('Network.emulateNetworkConditions', network);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    const finished: Request[] = [];
    page.on('requestfinished', (request) => finished.push(request));
    return async ({ requests, ...seen }) => {
      // A page is not told how long the answers of other origins are. Only requests that finished before the first use
      // are asked: one that finishes later may be asked when the browser's context is already closed.
      const bytesOf = new Map(
        await Promise.all(finished.map(async (request) => [request.url(), await transferred(request)] as const)),
      );
      return {
        ...seen,
        requests: requests.map(({ at, ...times }) => ({
          ...times,
          path: new URL(at).pathname,
          bytes: bytesOf.get(at) ?? 0,
        })),
      };
    };
  });
}

/**
 * How often functions of the page's script are called until the page can be used. Chromium counts them, so the number is the same on every machine, however busy
 * it is.
 */
export function callsUntilUse(browser: Browser, url: string, options: BrowserContextOptions): Promise<number> {
  return untilUse(browser, url, options, async (_page, devTools) => {
    await devTools.send('Profiler.enable');
    await devTools.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return async () => {
      const { result } = await devTools.send('Profiler.takePreciseCoverage');
      const own = result.filter((script) => script.url.includes('/assets/'));
      if (own.length === 0) throw new Error('Chromium counted no call of the page');
      const counts = own.flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0));
      return counts.reduce((sum, count) => sum + count, 0);
    };
  });
}

/** Opens a page in a context of its own. `watch` begins to watch it, and returns what reads the result once the page can be used. */
async function untilUse<Result>(
  browser: Browser,
  url: string,
  options: BrowserContextOptions,
  watch: (page: Page, devTools: CDPSession) => Promise<(seen: Seen) => Promise<Result>>,
): Promise<Result> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  try {
    const page = await context.newPage();
    const result = await watch(page, await context.newCDPSession(page));
    const told = Promise.withResolvers<Seen>();
    await page.exposeFunction('tellFirstUse', told.resolve);
    await page.addInitScript(noteFirstUse);
    await page.goto(url, { waitUntil: 'commit' });
    return await result(await told.promise);
  } finally {
    await context.close();
  }
}

interface Seen extends Pick<FirstUse, 'buttonMs' | 'fieldsMs'> {
  readonly requests: readonly (Pick<FirstRequest, 'startMs' | 'endMs'> & { readonly at: string })[];
}

async function transferred(request: Request): Promise<number> {
  const { responseHeadersSize, responseBodySize } = await request.sizes();
  return responseHeadersSize + responseBodySize;
}

// Runs in the browser, before the page's own script.
function noteFirstUse(): void {
  const world = globalThis as unknown as {
    self: unknown;
    top: unknown;
    tellFirstUse(use: Seen): void;
    document: {
      querySelectorAll(selector: string): ArrayLike<{ clientHeight: number }> & Iterable<{ clientHeight: number }>;
    };
    performance: {
      getEntriesByType(type: string): { name: string; startTime: number; responseEnd: number }[];
    };
    requestAnimationFrame(step: () => void): void;
  };
  if (world.self !== world.top) return;
  let buttonMs: number | undefined;
  const look = () => {
    const { document } = world;
    if (document.querySelectorAll('button.pay:not([aria-disabled=true])').length > 0) buttonMs ??= performance.now();
    // The page shows a frame with card fields, or Stripe's, once it says that it is there.
    const frames = [...document.querySelectorAll('section.card iframe')];
    const areShown = frames.length > 0 && frames.every(({ clientHeight }) => clientHeight > 0);
    if (buttonMs === undefined || !areShown) return world.requestAnimationFrame(look);
    const entries = ['navigation', 'resource'].flatMap((type) => world.performance.getEntriesByType(type));
    const requests = entries.map(({ name, startTime, responseEnd }) => ({
      at: name,
      startMs: startTime,
      endMs: responseEnd,
    }));
    world.tellFirstUse({ buttonMs, fieldsMs: performance.now(), requests });
  };
  world.requestAnimationFrame(look);
}
