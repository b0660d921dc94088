import { posix } from 'node:path';
import type { LockEntry, LockFile } from '../checks/lock-file.ts';

/** A package that runs in an installation, as the lock file names it. */
export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  /** Only on some platforms, or only if it can be installed. */
  readonly optional: boolean;
  /** A part of Eligo. */
  readonly own: boolean;
  readonly license: string | undefined;
  /** `sha512-…` of the archive, in base64. */
  readonly integrity: string | undefined;
  /** The ids of what it requires. */
  readonly requires: readonly string[];
}

// The parts that the images and `npm start` run. The others (bench, e2e, testkit) only measure and test.
const runningParts = [
  ...['gateway', 'sandbox', 'stack', 'cli', 'web/checkout'],
  ...['billing', 'catalog', 'checkout', 'refunds', 'webhooks'].map((name) => `services/${name}`),
];

/** `name@version`. */
export function packageId({ name, version }: Pick<RuntimePackage, 'name' | 'version'>): string {
  return `${name}@${version}`;
}

/**
 * The packages that run, each once, by name: the parts of Eligo, and everything that they require without its development tools. `npm sbom
 * --omit=dev` does not tell: it leaves out each package that is a development tool of one workspace, also when another workspace needs it to run (pg).
 */
export function runtimePackages(lock: LockFile): RuntimePackage[] {
  const reached = new Map<string, { readonly entry: LockEntry; requires: Set<string>; optional: boolean }>();
  const visit = (path: string, optional: boolean): string => {
    const entry = lock.packages[path];
    if (entry === undefined) throw new Error(`package-lock.json has no entry ${path}`);
    const id = packageId(named(path, entry));
    const known = reached.get(path);
    if (known !== undefined && (!known.optional || optional)) return id;
    const found = known ?? { entry, requires: new Set<string>(), optional };
    found.optional = optional;
    reached.set(path, found);
    for (const { name, needed } of requirementsOf(entry)) {
      const at = resolve(lock, path, name);
      if (at === undefined && needed) throw new Error(`package-lock.json lacks ${name}, which ${path} requires`);
      if (at !== undefined) found.requires.add(visit(at, optional || !needed));
    }
    return id;
  };
  // The root names the Node that npm start runs on.
  for (const { name } of requirementsOf(lock.packages[''] ?? {})) visit(resolve(lock, '', name) ?? name, true);
  for (const part of runningParts) visit(part, false);
  return merged([...reached].map(([path, { entry, requires, optional }]) => describe(path, entry, requires, optional)));
}

function named(path: string, entry: LockEntry): { name: string; version: string } {
  const name = entry.name ?? path.split('node_modules/').at(-1) ?? path;
  if (entry.version === undefined) throw new Error(`package-lock.json names no version of ${path}`);
  return { name, version: entry.version };
}

function requirementsOf(entry: LockEntry): { name: string; needed: boolean }[] {
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => !entry.peerDependenciesMeta?.[name]?.optional,
  );
  const optional = Object.keys(entry.optionalDependencies ?? {});
  const needed = [...Object.keys(entry.dependencies ?? {}), ...peers].filter((name) => !optional.includes(name));
  return [...needed.map((name) => ({ name, needed: true })), ...optional.map((name) => ({ name, needed: false }))];
}

// As Node looks for it: in the node_modules of the folder and of each folder above it.
function resolve(lock: LockFile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder === '.' ? '' : posix.dirname(folder)) {
    const path = posix.join(folder === '.' ? '' : folder, 'node_modules', name);
    const entry = lock.packages[path];
    if (entry !== undefined) return entry.link === true ? entry.resolved : path;
    if (folder === '' || folder === '.') return undefined;
  }
}

function describe(path: string, entry: LockEntry, requires: Set<string>, optional: boolean): RuntimePackage {
  return {
    ...named(path, entry),
    optional,
    own: !path.includes('node_modules/'),
    license: entry.license,
    integrity: entry.integrity,
    requires: [...requires].toSorted(),
  };
}

// The same version may lie in several folders.
function merged(packages: readonly RuntimePackage[]): RuntimePackage[] {
  const byId = Map.groupBy(packages, packageId);
  return [...byId.entries()]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, [first, ...others]]) => {
      if (first === undefined) return [];
      const all = [first, ...others];
      const requires = [...new Set(all.flatMap((one) => one.requires))].toSorted();
      return { ...first, requires, optional: all.every((one) => one.optional) };
    });
}
