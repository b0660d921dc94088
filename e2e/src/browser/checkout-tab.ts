import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  FrameLocator,
  Page,
  Route,
  ViewportSize,
} from 'playwright-core';
import { expect } from 'vitest';
import { readingOf } from './reading.ts';

/** A shopper's tab with a checkout page in it. */
export interface CheckoutTab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** The card fields of a slot, in their frame. */
  card(slot: 'health' | 'other'): FrameLocator;
  /** Types a card into the fields of a slot. */
  type(slot: 'health' | 'other', number: string): Promise<void>;
  pay(): Promise<void>;
  /** Has this site, for which the page leaves after a payment, answer so that the page stays. Answers where the page has asked to go. */
  stays(site: string): Promise<{ readonly asked: Promise<string> }>;
  /** Lets the page leave for the shop after a payment; otherwise every tab stays, so that what it says can be read. */
  leaves(): Promise<void>;
  /** Waits until the page says this. */
  says(text: string | RegExp): Promise<void>;
  /**
   * Fails with what axe finds in the page and in the card fields, in light and in dark, and where a screen reader reads something else than `e2e/test/read-aloud`
   * has under this name; takes a screenshot under this name. With `ELIGO_TEST_LONG=on` it reads the other language, too, and takes
   * a screenshot on a phone and on a desktop, in light and in dark, in English and in Spanish, and runs axe on each.
   */
  inspect(name: string): Promise<void>;
  /** Fails if the browser has refused anything by the Content-Security-Policy, or a script has failed. */
  close(): Promise<void>;
}

export const numbers = {
  hsa: '4000 0512 3000 0072',
  credit: '4242 4242 4242 4242',
  declined: '4000 0000 0000 0002',
  insufficient: '4000 0512 3000 0098',
  short: '4000 0512 3000 0106',
  authentication: '4000 0025 0000 3155',
} as const;

export const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
export const desktop: BrowserContextOptions = { viewport: { width: 1_280, height: 900 } };

/** Answers the questions for a letter, once the page asks them. */
export async function answerLetterQuestions({ page, says }: Pick<CheckoutTab, 'page' | 'says'>): Promise<void> {
  await says('Questions for your letter');
  await page.getByLabel('Which medical condition').fill('Back pain');
  await page.getByLabel('How do').fill('It relieves the pain');
  await page.getByRole('checkbox').check();
  await page.getByText('Send answers').click();
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const pictures = join(import.meta.dirname, '../../screenshots');
const readings = join(import.meta.dirname, '../../test/read-aloud');

export async function openCheckoutTab(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = phone,
  prepare?: (context: BrowserContext) => Promise<unknown>,
): Promise<CheckoutTab> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  await prepare?.(context);
  return openTabIn(context, url);
}

const isDone = ({ pathname }: URL) => pathname === '/done';
// No content, no other page.
const staysHere = (route: Route) => route.fulfill({ status: 204 });

/** Drops timers of 1.5 s or more, so that the page cannot leave by a timer. Runs in the browser before the page's script. */
export function stopLongTimers(): void {
  const world = globalThis as { setTimeout: unknown };
  const { setTimeout: start } = globalThis;
  world.setTimeout = (work: () => void, ms?: number) => ((ms ?? 0) < 1_500 ? start(work, ms) : 0);
}

/** Another tab of the same shopper. */
export async function openTabIn(context: BrowserContext, url: string): Promise<CheckoutTab> {
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(String(error)));
  page.on('console', (message) => {
    if (/Content.Security.Policy|violates/i.test(message.text())) troubles.push(message.text());
  });
  await page.route(isDone, staysHere);
  await page.goto(url);
  const card = (slot: 'health' | 'other') =>
    page.locator(`section[aria-labelledby="${slot}-card"]`).frameLocator('iframe');
  return {
    page,
    context,
    card,
    async type(slot, number) {
      await card(slot).locator('#number').fill(number);
      await card(slot).locator('#expiry').fill('12 / 39');
      await card(slot).locator('#cvc').fill('123');
    },
    async pay() {
      const button = page.locator('button.pay');
      await button.scrollIntoViewIfNeeded();
      // Until the next frame is drawn, Chromium sends a click to whichever frame of another origin was there before the scroll.
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      await button.click();
    },
    async stays(site) {
      const { origin } = new URL(site);
      const asked = Promise.withResolvers<string>();
      await page.route(
        (url) => url.origin === origin,
        async (route) => {
          asked.resolve(route.request().url());
          await staysHere(route);
        },
      );
      return { asked: asked.promise };
    },
    leaves: () => page.unroute(isDone, staysHere),
    async says(text) {
      try {
        await page.getByText(text).first().waitFor();
      } catch (error) {
        throw new Error(`The page does not say "${text}", but:\n${await page.locator('main').textContent()}`, {
          cause: error,
        });
      }
    },
    async inspect(name) {
      mkdirSync(pictures, { recursive: true });
      await takePicture(page, name);
      await readAloud(page, name);
      await runAxeOn(page, name);
      await inOtherColors(page, (scheme) => runAxeOn(page, `${name} in ${scheme}`, ['color-contrast']));
      if (process.env.ELIGO_TEST_LONG === 'on') await inspectInEveryLook(page, name);
    },
    async close() {
      await page.close();
      if (troubles.length > 0) throw new Error(`The browser reports:\n${troubles.join('\n')}`);
    },
  };
}

// What a screen reader is told: the language, the title, where the focus is, and each name, role and state, also in frames of other origins.
async function readAloud(page: Page, name: string): Promise<void> {
  const file = join(readings, `${name}.txt`);
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  let reading = await readingOf(page);
  // A slow page still moves the focus, or shows its frames, after the text that a test waits for.
  const end = performance.now() + 5_000;
  while (kept !== undefined && reading !== kept && performance.now() < end) {
    await page.evaluate('new Promise(requestAnimationFrame)');
    reading = await readingOf(page);
  }
  await expect(reading).toMatchFileSnapshot(file);
}

const takePicture = (page: Page, name: string) =>
  page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true, animations: 'disabled' });

// Chromium draws a frame of another origin once it is in the window.
async function showWhole(page: Page, viewport: ViewportSize): Promise<void> {
  await page.setViewportSize(viewport);
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'));
  await page.setViewportSize({ width: viewport.width, height: Math.max(height, viewport.height) });
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
}

/** `rules`: these alone, instead of all. */
async function runAxeOn(page: Page, name: string, rules?: readonly string[]): Promise<void> {
  const found: string[] = [];
  for (const frame of page.frames()) {
    // As a script file, which the page's policy would refuse: evaluated in the frame's own world instead.
    await frame.evaluate(await axeSource());
    found.push(...(await frame.evaluate(runAxe, rules)));
  }
  if (found.length > 0) throw new Error(`axe in ${name}:\n${found.join('\n')}`);
}

async function inOtherColors(page: Page, work: (scheme: 'light' | 'dark') => Promise<void>): Promise<void> {
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  const other = isDark ? 'light' : 'dark';
  await page.emulateMedia({ colorScheme: other });
  await work(other);
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
}

async function inspectInEveryLook(page: Page, name: string): Promise<void> {
  if ((await page.locator('.outcome').count()) === 0) return inspectLanguages(page, name);
  // What is over leaves for the shop by itself, so only another tab holds still.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.locator('.outcome').waitFor();
  await inspectLanguages(other, name);
  await other.close();
}

async function inspectLanguages(page: Page, name: string): Promise<void> {
  for (const isOwn of [true, false]) {
    const language = String(await page.evaluate('document.documentElement.lang'));
    if (!isOwn) await readAloud(page, `${name}.${language}`);
    // A payment that is under way is over before all looks are taken.
    const isWorking = (await page.locator('.spinner').count()) > 0;
    if (isWorking) await takePicture(page, `${name}.${language}.phone.light`);
    else await inspectLooks(page, `${name}.${language}`);
    await changeLanguage(page, language === 'en' ? 'es' : 'en');
  }
}

// What was typed, and where the focus is, stays.
async function changeLanguage(page: Page, language: string): Promise<void> {
  await page.locator(`header button[lang=${language}]`).dispatchEvent('click');
  await page.locator(`html[lang=${language}]`).waitFor({ state: 'attached' });
  for (const frame of await page.locator('section.card iframe').all()) {
    // Stripe's fields, which the tests replace, speak one language, and so do fields that never load.
    const document = frame.contentFrame();
    const isOurs = (await frame.getAttribute('src'))?.includes('/fields/') === true;
    if (isOurs && (await document.locator('html[data-one-language]').count()) === 0)
      await document.locator(`html[lang=${language}]`).waitFor();
  }
}

async function inspectLooks(page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  for (const [device, { viewport }] of Object.entries({ phone, desktop })) {
    if (viewport) await showWhole(page, viewport);
    const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
    await takePicture(page, `${name}.${device}.${isDark ? 'dark' : 'light'}`);
    await runAxeOn(page, `${name} on a ${device}`);
    await inOtherColors(page, async (scheme) => {
      await takePicture(page, `${name}.${device}.${scheme}`);
      await runAxeOn(page, `${name} on a ${device} in ${scheme}`);
    });
  }
  if (before !== null) await page.setViewportSize(before);
}

let source: Promise<string> | undefined;

function axeSource(): Promise<string> {
  source ??= import('node:fs/promises').then(({ readFile }) => readFile(axe, 'utf8'));
  return source;
}

// Runs in the browser.
async function runAxe(only?: readonly string[]): Promise<string[]> {
  const world = globalThis as unknown as {
    self: unknown;
    top: unknown;
    axe: {
      run(options: object): Promise<{ violations: { id: string; help: string; nodes: { html: string }[] }[] }>;
    };
  };
  const isTop = world.self === world.top;
  const { violations } = await world.axe.run({
    iframes: false,
    // What a whole page needs, the page around a frame has.
    ...(only === undefined
      ? {
          rules: Object.fromEntries(
            ['landmark-one-main', 'page-has-heading-one', 'region'].map((rule) => [rule, { enabled: isTop }]),
          ),
          runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        }
      : { runOnly: { type: 'rule', values: only } }),
  });
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}
