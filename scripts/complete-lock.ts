// npm run lock:complete: adds to package-lock.json what a registry without other platforms' packages made npm leave out.
// An entry needs no more than its version and its platform: no file of it is fetched on any other. With `-- --hashes` it also asks the registry for the
// hashes of the packages whose entries have none, one after the other, and adds those that it tells.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { type Gap, gapsOf, type LockEntry, lockPath, readLock, unhashedOf } from './checks/lock-file.ts';

const systems: Readonly<Record<string, string>> = {
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  openbsd: 'openbsd',
  openharmony: 'openharmony',
  win32: 'win32',
  windows: 'win32',
};
const processors: Readonly<Record<string, string>> = {
  '64': 'x64',
  arm: 'arm',
  arm64: 'arm64',
  armv7: 'arm',
  ia32: 'ia32',
  loong64: 'loong64',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  x64: 'x64',
};

const lock = readLock();
for (const gap of gapsOf(lock)) {
  lock.packages[`node_modules/${gap.name}`] = entryFor(gap, lock.packages[gap.by]?.dev === true);
}
if (process.argv.includes('--hashes')) addHashes();
const inOrder = Object.entries(lock.packages).sort(([one], [other]) => one.localeCompare(other, 'en'));
lock.packages = Object.fromEntries(inOrder);
writeFileSync(lockPath, `${JSON.stringify(lock, undefined, 2)}\n`);

// `musleabihf` and `gnueabihf` are the same libraries on arm; on Windows `gnu` is a compiler.
function libcOf(words: string[], system: string): string[] | undefined {
  if (system !== 'linux') return undefined;
  if (words.some((word) => word.startsWith('musl'))) return ['musl'];
  return words.some((word) => word.startsWith('gnu')) ? ['glibc'] : undefined;
}

function entryFor({ name, version }: Gap, dev: boolean): LockEntry {
  const words = name.split(/[-/]/);
  const system = words.map((word) => systems[word]).find(Boolean);
  const processor = words.map((word) => processors[word]).find(Boolean);
  if (!system || !processor || !/^\d/.test(version)) throw new Error(`${name} ${version} has no known platform`);
  const libc = libcOf(words, system);
  return {
    version,
    cpu: [processor],
    ...(dev ? { dev: true } : {}),
    ...(libc ? { libc } : {}),
    optional: true,
    os: [system],
  };
}

function addHashes(): void {
  const unhashed = unhashedOf(lock);
  const told = unhashed.filter(({ path, entry }) => {
    const id = `${path.split('node_modules/').at(-1)}@${entry.version}`;
    const answer = spawnSync('npm', ['view', id, 'dist.integrity'], { encoding: 'utf8', timeout: 30_000 });
    const integrity = answer.status === 0 ? answer.stdout.trim() : '';
    if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity)) return false;
    entry.integrity = integrity;
    return true;
  });
  console.log(`Added hashes for ${told.length} of ${unhashed.length} packages`);
}
