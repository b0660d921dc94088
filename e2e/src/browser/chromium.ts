import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { chromiumFromDebian } from './chromium-from-debian.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

// Pages of the browser's own, for its address bar, that each new window loads beside the first page in it; and what Playwright turns off that such a browser
// would do on its own.
const notForShoppers = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'AimEnabled', 'PreconnectToSearch'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'Translate', 'MediaRouter', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying'],
];

/**
 * Starts a Chromium without a window: `ELIGO_CHROMIUM`, one on the PATH, or Debian's. Root installs Debian's; others
 * unpack it into a folder of theirs. `likeShoppers`: it keeps the pages that it leaves, as browsers do, also those that must not be cached, as some do; and a
 * new window does nothing but load its page.
 */
export async function launchChromium({ likeShoppers = false } = {}): Promise<Browser> {
  const executablePath = process.env.ELIGO_CHROMIUM || onPath();
  return chromium.launch({
    ...(executablePath ? { executablePath } : await fetched()),
    ...(likeShoppers ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {}),
    args: [
      ...(likeShoppers
        ? [
            `--disable-features=${notForShoppers.join(',')}`,
            '--enable-features=CacheControlNoStoreEnterBackForwardCache:level/restore-unless-http-only-cookie-change',
          ]
        : []),
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

const advice = 'install it (Debian: apt-get install chromium) or set ELIGO_CHROMIUM.';

async function fetched(): Promise<{ executablePath: string; env?: Record<string, string> }> {
  if (process.getuid?.() === 0) return { executablePath: installed() };
  try {
    return await chromiumFromDebian();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The browser tests need Chromium, and fetching Debian's failed (${reason}): ${advice}`);
  }
}

function installed(): string {
  const missing = `The browser tests need Chromium: ${advice}`;
  if (!isExecutable('/usr/bin/apt-get')) throw new Error(missing);
  process.stderr.write('eligo: installing chromium for the browser tests\n');
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-qq', '-y', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: 300_000,
    });
  apt('update');
  apt('install', '--no-install-recommends', 'chromium');
  const found = onPath();
  if (found === undefined) throw new Error(missing);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not to be run.
    return false;
  }
}
