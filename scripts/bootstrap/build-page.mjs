// Builds the checkout page of web/checkout when its sources, or what builds them, have changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { makeOnce } from './make-once.mjs';
import { pinnedNode } from './run.mjs';

/** `vite build` when it is needed, by one process at a time; what is there is replaced in one step. */
export async function buildPage(root) {
  const page = join(root, 'web', 'checkout');
  await makeOnce(
    root,
    'page',
    () => isBuilt(page),
    () => build(root, page),
  );
}

function isBuilt(page) {
  const stamp = join(page, 'dist', '.stamp');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(page);
}

function build(root, page) {
  const draft = mkdtempSync(join(page, '.dist-'));
  try {
    const vite = join(dirname(manifestOf(page, 'vite')), 'bin', 'vite.js');
    const made = join(draft, 'dist');
    // Vite minifies by this variable; a caller's own, such as a test runner's, must not decide.
    const run = spawnSync(
      pinnedNode(root) ?? process.execPath,
      [vite, 'build', '--outDir', made, '--logLevel', 'warn'],
      {
        cwd: page,
        encoding: 'utf8',
        env: { ...process.env, NODE_ENV: 'production' },
      },
    );
    if (run.status !== 0) throw new Error(`vite build failed: ${run.error?.message ?? run.stderr.trim()}`);
    writeFileSync(join(made, '.stamp'), fingerprint(page));
    if (existsSync(join(page, 'dist'))) renameSync(join(page, 'dist'), join(draft, 'old'));
    renameSync(made, join(page, 'dist'));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function fingerprint(page) {
  const hash = createHash('sha256');
  const sources = ['src', 'fields'].flatMap((folder) =>
    readdirSync(join(page, folder), { recursive: true }).map((name) => join(folder, name)),
  );
  const documents = readdirSync(page).filter((name) => /\.(?:html|json|ts)$/.test(name));
  for (const name of [...documents, ...sources].sort()) {
    if (statSync(join(page, name)).isFile()) hash.update(`${name}\n`).update(readFileSync(join(page, name)));
  }
  for (const tool of ['vite', 'preact']) hash.update(JSON.parse(readFileSync(manifestOf(page, tool), 'utf8')).version);
  return hash.digest('hex');
}

// npm puts a package beside the page where another version of it stands at the root.
function manifestOf(page, name) {
  return createRequire(join(page, 'package.json')).resolve(`${name}/package.json`);
}
