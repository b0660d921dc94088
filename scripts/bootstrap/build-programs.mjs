// Builds the programs that run as processes when their sources, or what builds them, have changed.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { builtFolder, programs } from '../../packages/processes/src/programs.mjs';
import { makeOnce } from './make-once.mjs';

/** Says what was built, and from which sources. */
const stampFile = '.stamp.json';

/** Builds when it is needed, by one process at a time. Processes that run what was built before keep the files that they may still load. */
export async function buildPrograms(root) {
  try {
    await makeOnce(
      root,
      'programs',
      () => isBuilt(root),
      () => build(root),
    );
  } catch (error) {
    if (error.code !== 'EACCES' && error.code !== 'EROFS') throw error;
    throw new Error(
      `${builtFolder}/ is out of date and this user cannot write it; run \`node scripts/bootstrap.mjs node\` as the owner of ${root}.`,
      { cause: error },
    );
  }
}

function isBuilt(root) {
  const stamp = stampOf(root);
  if (stamp === undefined || !stamp.files.every((name) => existsSync(join(root, builtFolder, name)))) return false;
  return stamp.fingerprint === fingerprint(root);
}

function stampOf(root) {
  try {
    return JSON.parse(readFileSync(join(root, builtFolder, stampFile), 'utf8'));
  } catch (error) {
    // A crash of the machine may leave it empty.
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
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
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: Object.entries(programs).map(([out, source]) => ({ in: join(root, source), out })),
    outdir: draft,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'error',
    plugins: [placesOfSources(root)],
    // Packages that are not ECMAScript modules ask for what is Node's own by `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    external: [...driversOfOthers, ...withFilesOfTheirOwn],
    metafile: true,
  });
  refuseFilesOfTheirOwn(root, metafile);
  const before = stampOf(root)?.files ?? [];
  const files = readdirSync(draft).sort();
  // Without a stamp, a build that is interrupted is made anew. The entry files come last: until then the earlier build is whole.
  rmSync(join(folder, stampFile), { force: true });
  const isEntry = (name) => Object.hasOwn(programs, name.replace(/\.js$/, ''));
  for (const name of files.toSorted((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) {
    renameSync(join(draft, name), join(folder, name));
  }
  writeFileSync(join(draft, 'stamp'), JSON.stringify({ fingerprint: made, files }));
  renameSync(join(draft, 'stamp'), join(folder, stampFile));
  for (const name of readdirSync(folder)) {
    if (name !== stampFile && !files.includes(name) && !before.includes(name)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}

// Of databases and runtimes that Eligo does not use. Knex and pg load them when they are asked for; an image has none of them.
const driversOfOthers = [
  ...['better-sqlite3', 'mariadb', 'mariadb/callback', 'mysql', 'mysql2', 'oracledb', 'pg-native', 'pg-query-stream'],
  ...['sqlite3', 'tedious'],
  'pg-cloudflare',
];

// These read files that are beside their own code, such as fonts; fontkit is loaded with pdfkit, and once.
const withFilesOfTheirOwn = ['pdfkit', 'fontkit'];

function refuseFilesOfTheirOwn(root, { inputs }) {
  const found = Object.keys(inputs).filter(
    (name) => name.includes('node_modules/') && readFileSync(join(root, name), 'utf8').includes('import.meta'),
  );
  if (found.length > 0) {
    throw new Error(
      `These find files by the place of their code; add their packages to withFilesOfTheirOwn: ${found.join(', ')}`,
    );
  }
}

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
  for (const folder of [
    'cli',
    'gateway',
    'packages',
    'proto/gen',
    'sandbox',
    'services',
    'stack',
    'web/checkout/src',
  ]) {
    for (const name of sourcesIn(join(root, folder)).sort())
      hash.update(`${folder}/${name}\n`).update(readFileSync(join(root, folder, name)));
  }
  for (const name of ['package-lock.json', 'tsconfig.json']) hash.update(readFileSync(join(root, name)));
  hash.update(readFileSync(fileURLToPath(import.meta.url)));
  return hash.digest('hex');
}

function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true }).filter(
    (name) =>
      /(?:^|\/)[^./][^/]*\.(?:ts|js|mjs|json)$/.test(name) &&
      !/(?:^|\/)(?:node_modules|test|test-support)\/|\.test\.ts$|\.d\.m?ts$/.test(name),
  );
}
