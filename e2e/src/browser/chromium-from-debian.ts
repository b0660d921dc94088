import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '@eligo/processes/lock';
import { keptFolder, privateAptOptions, repositoryRoot, runPackageTool } from '@eligo/stack';

/** Debian's packages of a whole browser and of the headless shell. */
export const packages = ['chromium', 'chromium-headless-shell'];

export interface UnpackedChromium {
  executablePath: string;
  env: Record<string, string>;
}

/**
 * The first of these programs that Debian's packages have, fetched now or earlier: nothing is installed, and no root is needed. It is kept
 * with the libraries and fonts that this machine had not installed.
 */
export async function chromiumFromDebian(names: readonly string[]): Promise<UnpackedChromium> {
  const parent = keptFolder(join(repositoryRoot, '.eligo', 'bin'));
  const folder = join(parent, 'chromium');
  return await withLock(join(parent, 'chromium.lock'), async () => {
    const kept = unpackedIn(folder, names);
    if (failureOf(kept) === undefined) return kept;
    process.stderr.write('eligo: fetching chromium for the browser tests\n');
    await fetchInto(folder, join(parent, 'chromium.draft'));
    const fetched = unpackedIn(folder, names);
    const failure = failureOf(fetched);
    if (failure !== undefined) throw new Error(`the fetched one does not start: ${failure}`);
    return fetched;
  });
}

// The system's own status file says what is missing, so that apt adds no library that the system has.
async function fetchInto(folder: string, draft: string): Promise<void> {
  rmSync(draft, { recursive: true, force: true });
  try {
    const { all } = privateAptOptions(join(draft, 'apt'));
    const content = join(draft, 'content');
    // Some programs in the packages run as their owner, which is this user: nobody else may reach them.
    mkdirSync(content, { mode: 0o700 });
    await runPackageTool('apt-get', [...all, 'update'], draft);
    const download = ['--yes', '--download-only', '--no-install-recommends', 'install'];
    const [browser = '', ...optional] = packages;
    await runPackageTool('apt-get', [...all, ...download, browser], draft);
    for (const name of optional) {
      // A Debian that has no such package does with the browser alone.
      await runPackageTool('apt-get', [...all, ...download, name], draft).catch(() => undefined);
    }
    const archives = join(draft, 'apt', 'cache', 'archives');
    for (const name of readdirSync(archives).filter(isWanted)) {
      await runPackageTool('dpkg-deb', ['-x', join(archives, name), join(content, 'root')], draft);
    }
    writeFileSync(join(content, 'fonts.conf'), fontConfiguration(join(content, 'root', 'etc/fonts/conf.d')));
    rmSync(folder, { recursive: true, force: true });
    renameSync(content, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

// An update of the C library may be among them. It fits its own loader alone, and programs are started by the system's.
function isWanted(name: string): boolean {
  return name.endsWith('.deb') && !/^libc(6|-bin)_/.test(name);
}

// Debian's own configuration names absolute paths: this one has the same rules, and the fonts beside it.
function fontConfiguration(rulesFolder: string): string {
  const rules = existsSync(rulesFolder) ? readdirSync(rulesFolder).filter((name) => name.endsWith('.conf')) : [];
  return [
    '<?xml version="1.0"?>',
    '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
    '<fontconfig>',
    '<dir prefix="relative">root/usr/share/fonts</dir>',
    '<dir>/usr/share/fonts</dir>',
    '<cachedir prefix="xdg">fontconfig</cachedir>',
    ...rules.sort().map((name) => `<include ignore_missing="yes">${name}</include>`),
    '</fontconfig>\n',
  ].join('\n');
}

// Debian's /usr/bin/chromium is a script that names absolute paths, so the program behind it is started.
function unpackedIn(folder: string, names: readonly string[]): UnpackedChromium {
  const root = join(folder, 'root');
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
  env.LD_LIBRARY_PATH = [...libraryFolders(root), process.env.LD_LIBRARY_PATH].filter(Boolean).join(delimiter);
  if (!existsSync('/etc/fonts/fonts.conf')) {
    env.FONTCONFIG_FILE = join(folder, 'fonts.conf');
    env.FONTCONFIG_PATH = join(root, 'usr/share/fontconfig/conf.avail');
  }
  const programs = names.map((name) => join(root, 'usr/lib/chromium', name));
  return { executablePath: programs.find((program) => existsSync(program)) ?? '', env };
}

// Libraries are in a folder of the architecture, and some that libraries load are in folders below it.
function libraryFolders(root: string): string[] {
  return ['lib', 'usr/lib']
    .map((base) => join(root, base))
    .filter((base) => existsSync(base))
    .flatMap((base) => readdirSync(base).map((name) => join(base, name)))
    .filter((folder) => folder.endsWith('-linux-gnu'))
    .flatMap((folder) => [folder, join(folder, 'nss'), join(folder, 'pulseaudio')]);
}

function failureOf({ executablePath, env }: UnpackedChromium): string | undefined {
  if (!existsSync(executablePath)) return 'the packages do not contain it';
  const answer = spawnSync(executablePath, ['--version'], { encoding: 'utf8', timeout: 30_000, env });
  if (answer.status === 0) return undefined;
  return answer.error?.message ?? answer.stderr.trim().split('\n').at(-1) ?? '';
}
