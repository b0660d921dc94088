// Builds the programs that run as processes when their sources, or what builds them, have changed.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withLock } from '../../packages/processes/src/lock.mjs';
import { builtFolder, programs } from '../../packages/processes/src/programs.mjs';

/** Builds when it is needed, by one process at a time. Processes that run what was built before keep the files that they may still load. */
export async function buildPrograms(root) {
  if (isBuilt(root)) return;
  await withLock(join(root, '.eligo', 'programs.lock'), async () => {
    if (!isBuilt(root)) await build(root);
  });
}

function isBuilt(root) {
  return stampOf(root)?.fingerprint === fingerprint(root);
}

function stampOf(root) {
  const path = join(root, builtFolder, '.stamp.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

async function build(root) {
  const made = fingerprint(root);
  const folder = join(root, builtFolder);
  const draft = join(folder, '.draft');
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const { default: esbuild } = await import(
    pathToFileURL(createRequire(join(root, 'package.json')).resolve('esbuild'))
  );
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: Object.entries(programs).map(([out, source]) => ({ in: join(root, source), out })),
    outdir: draft,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    keepNames: true,
    logLevel: 'error',
    plugins: [placesOfSources(root)],
    // Packages that are not ECMAScript modules ask for what is Node's own by `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    external: [...driversOfOthers, ...withFilesOfTheirOwn],
  });
  const before = stampOf(root)?.files ?? [];
  const files = readdirSync(draft).sort();
  // The entry files come last: until then the earlier build is whole.
  const isEntry = (name) => Object.hasOwn(programs, name.replace(/\.js$/, ''));
  for (const name of files.toSorted((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) {
    renameSync(join(draft, name), join(folder, name));
  }
  writeFileSync(join(draft, 'stamp'), JSON.stringify({ fingerprint: made, files }));
  renameSync(join(draft, 'stamp'), join(folder, '.stamp.json'));
  for (const name of readdirSync(folder)) {
    if (name !== '.stamp.json' && !files.includes(name) && !before.includes(name)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}

// Of databases that Eligo does not use. Knex and pg load them when they are asked for.
const driversOfOthers = [
  ...['better-sqlite3', 'mariadb', 'mariadb/callback', 'mysql', 'mysql2', 'oracledb', 'pg-native', 'pg-query-stream'],
  ...['sqlite3', 'tedious'],
];

// These read files that are beside their own code, such as fonts.
const withFilesOfTheirOwn = ['pdfkit'];

// A source finds its migrations and pages by its own place, which is another than that of the built file.
function placesOfSources(root) {
  return {
    name: 'places-of-sources',
    setup(esbuild) {
      esbuild.onLoad({ filter: /\.m?ts$|\.mjs$/ }, async ({ path }) => {
        if (path.includes('/node_modules/')) return undefined;
        const text = await readFile(path, 'utf8');
        if (!text.includes('import.meta')) return undefined;
        const place = (file) => JSON.stringify(`../${relative(root, file)}`);
        const contents = text
          .replaceAll('import.meta.url', `new URL(${place(path)}, import.meta.url).href`)
          .replaceAll(
            'import.meta.dirname',
            `process.getBuiltinModule('node:path').join(import.meta.dirname, ${place(dirname(path))})`,
          );
        return { contents, loader: 'ts' };
      });
    },
  };
}

function fingerprint(root) {
  const hash = createHash('sha256');
  for (const folder of ['cli', 'gateway', 'packages', 'proto/gen', 'sandbox', 'services', 'stack']) {
    for (const name of sourcesIn(join(root, folder)).sort())
      hash.update(`${folder}/${name}\n`).update(readFileSync(join(root, folder, name)));
  }
  for (const name of ['package-lock.json', relative(root, import.meta.filename)])
    hash.update(readFileSync(join(root, name)));
  return hash.digest('hex');
}

function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true }).filter(
    (name) =>
      /\.(?:ts|js|mjs|json)$/.test(name) &&
      !/(?:^|\/)(?:node_modules|test|test-support)\/|\.test\.ts$|\.d\.m?ts$/.test(name),
  );
}
