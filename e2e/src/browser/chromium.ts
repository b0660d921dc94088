import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '@eligo/processes/lock';
import { keptFolder, repositoryRoot } from '@eligo/stack';
import { type Browser, chromium } from 'playwright-core';
import { chromiumFromDebian, packages } from './chromium-from-debian.ts';

const windowed = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Chromium's pages without what a window needs: the same tests take two thirds of its processor time. It does not keep pages that it leaves. */
const headlessShell = ['chromium-headless-shell', 'chrome-headless-shell'];

// Pages of the browser's own, for its address bar, that each new window loads beside the first page in it; and what Playwright turns off that such a browser
// would do on its own.
const notForShoppers = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'AimEnabled', 'PreconnectToSearch'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'Translate', 'MediaRouter', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying'],
];

/**
 * Starts a Chromium without a window: `ELIGO_CHROMIUM`, one on the PATH, or Debian's. Root installs Debian's; others
 * unpack it into a folder of theirs. It is the headless shell where there is one. `likeShoppers`: it is a whole browser, which keeps the pages that it leaves, as browsers do, also those that must not be cached, as some do; and a
 * new window does nothing but load its page.
 */
export async function launchChromium({ likeShoppers = false } = {}): Promise<Browser> {
  const names = likeShoppers ? windowed : [...headlessShell, ...windowed];
  return chromium.launch({
    ...(await programOf(names)),
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

interface Program {
  readonly executablePath: string;
  readonly env?: Record<string, string>;
}

// One process after the other: while another one installs both packages, the browser is there before the headless shell.
async function programOf(names: readonly string[]): Promise<Program> {
  const given = process.env.ELIGO_CHROMIUM;
  if (given) return { executablePath: given };
  const lock = join(keptFolder(join(repositoryRoot, '.eligo', 'bin')), 'chromium-install.lock');
  return withLock(lock, async () => {
    const executablePath = onPath(names);
    return executablePath === undefined ? fetched(names) : { executablePath };
  });
}

function onPath(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

const advice = 'install it (Debian: apt-get install chromium) or set ELIGO_CHROMIUM.';

async function fetched(names: readonly string[]): Promise<Program> {
  if (process.getuid?.() === 0) return { executablePath: installed(names) };
  try {
    return await chromiumFromDebian(names);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The browser tests need Chromium, and fetching Debian's failed (${reason}): ${advice}`);
  }
}

function installed(names: readonly string[]): string {
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
  // By itself, since a Debian that has no such package would install neither.
  for (const name of packages) apt('install', '--no-install-recommends', name);
  const found = onPath(names);
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
