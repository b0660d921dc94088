import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '@eligo/processes/lock';
import { repositoryRoot } from '../../src/home.ts';
import { keptFolder } from '../../src/nats/find-server.ts';
import { privateAptOptions, runPackageTool } from '../../src/private-apt.ts';

/** The folder of the client programs, or why there is none. */
export type PostgresClient = { readonly folder: string } | { readonly missing: string };

/** The release of the server: an older `pg_dump` refuses it, and what a newer one writes it may not read. */
const release = 18;
const programs = ['pg_dump', 'pg_dumpall', 'pg_restore', 'psql'];

/**
 * Postgres' client programs, which the embedded server comes without: those on the PATH, those of an installed package, or Debian's, fetched now or
 * earlier. Nothing is installed, and no root is needed.
 */
export async function findPostgresClient(): Promise<PostgresClient> {
  const kept = keptFolder(join(repositoryRoot, '.eligo', 'bin'));
  const fetched = join(kept, `postgresql-client-${release}`);
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = () =>
    [...onPath, `/usr/lib/postgresql/${release}/bin`, join(fetched, 'bin')].find((folder) => isRelease(folder));
  const folder = found();
  if (folder !== undefined) return { folder };
  return await withLock(`${fetched}.lock`, async () => {
    try {
      if (found() === undefined) await fetchInto(fetched, `${fetched}.draft`);
      const now = found();
      return now === undefined ? { missing: 'Debian’s programs do not run here' } : { folder: now };
    } catch (error) {
      return { missing: error instanceof Error ? error.message : String(error) };
    }
  });
}

function isRelease(folder: string): boolean {
  return programs.every((name) => {
    const path = join(folder, name);
    if (!existsSync(path)) return false;
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
    return new RegExp(`\\(PostgreSQL\\) ${release}\\.`).test(stdout ?? '');
  });
}

/** The Debian that has this release. Its programs need its C library, so that one is fetched with them. */
const suite = 'forky';

async function fetchInto(folder: string, draft: string): Promise<void> {
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    const { all } = privateAptOptions(join(draft, 'apt'));
    const at = (name: string) => join(draft, name);
    writeFileSync(at('sources.list'), `deb ${signedBy()} ${mirror()} ${suite} main\n`);
    // As of a machine without libraries, so that all are fetched, which has what Debian's own scripts need.
    writeFileSync(at('status'), ['postgresql-client-common', 'sensible-utils'].map(installed).join('\n'));
    const source = ['-o', `Dir::Etc::sourcelist=${at('sources.list')}`, '-o', 'Dir::Etc::sourceparts=/dev/null'];
    const apt = [...all, ...source, '-o', `Dir::State::status=${at('status')}`];
    await runPackageTool('apt-get', [...apt, 'update'], draft);
    const only = ['--yes', '--download-only', '--no-install-recommends', 'install'];
    await runPackageTool('apt-get', [...apt, ...only, `postgresql-client-${release}`], draft);
    const archives = join(draft, 'apt', 'cache', 'archives');
    const content = at('content');
    mkdirSync(content);
    for (const name of readdirSync(archives).filter((one) => one.endsWith('.deb'))) {
      await runPackageTool('dpkg-deb', ['-x', join(archives, name), join(content, 'root')], draft);
    }
    writeStarters(content);
    rmSync(folder, { recursive: true, force: true });
    renameSync(content, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

// The mirror that this machine's apt uses.
function mirror(): string {
  const { stdout } = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' });
  const found = (stdout ?? '').split('\n').find((uri) => /\/debian\/?$/.test(uri));
  if (found === undefined) throw new Error('apt names no mirror of Debian');
  return found;
}

function signedBy(): string {
  const keyring = ['gpg', 'pgp']
    .map((ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`)
    .find(existsSync);
  return keyring === undefined ? '' : `[signed-by=${keyring}]`;
}

function installed(name: string): string {
  return [`Package: ${name}`, 'Status: install ok installed', 'Architecture: all', 'Version: 9999', ''].join('\n');
}

// The system's loader starts programs of its own C library alone. pg_dumpall looks for pg_dump beside the name that it is started by.
function writeStarters(content: string): void {
  const libraries = join(
    'usr',
    'lib',
    readdirSync(join(content, 'root', 'usr', 'lib')).find((name) => name.endsWith('-linux-gnu')) ?? '',
  );
  const loader = readdirSync(join(content, 'root', libraries)).find((name) => /^ld-linux.*\.so\.\d$/.test(name)) ?? '';
  mkdirSync(join(content, 'bin'));
  for (const name of programs) {
    const lines = [
      '#!/bin/sh',
      'root=$(dirname "$(dirname "$(readlink -f "$0")")")/root',
      `libraries=$root/${libraries}`,
      `exec "$libraries/${loader}" --library-path "$libraries" --argv0 "$0" "$root/usr/lib/postgresql/${release}/bin/${name}" "$@"`,
    ];
    writeFileSync(join(content, 'bin', name), `${lines.join('\n')}\n`, { mode: 0o755 });
  }
}
