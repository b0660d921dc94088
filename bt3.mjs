import { readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { build } from 'esbuild';

const root = process.cwd();
const ext = process.argv[2] === 'ext';
const meta = {
  name: 'meta',
  setup(b) {
    if (ext)
      b.onResolve({ filter: /^[^./]/ }, (a) =>
        a.path.startsWith('@eligo/') || a.kind === 'entry-point' ? undefined : { path: a.path, external: true },
      );
    b.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (path.includes('node_modules')) return;
      const s = await readFile(path, 'utf8');
      if (!s.includes('import.meta')) return;
      const r = '../' + relative(root, path);
      return {
        loader: 'ts',
        contents: s
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(r)}, import.meta.url).href`)
          .replaceAll(
            'import.meta.dirname',
            `(import.meta.dirname + ${JSON.stringify('/../' + relative(root, dirname(path)))})`,
          ),
      };
    });
  },
};
const t = performance.now();
const r = await build({
  entryPoints: {
    billing: 'services/billing/src/service.ts',
    checkout: 'services/checkout/src/service.ts',
    gateway: 'gateway/src/service.ts',
    all: 'stack/src/compositions.ts',
    catalog: 'services/catalog/src/service.ts',
    refunds: 'services/refunds/src/service.ts',
    webhooks: 'services/webhooks/src/service.ts',
    sandbox: 'sandbox/src/main.ts',
    cli: 'cli/src/main.ts',
  },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  outdir: 'dist',
  splitting: process.argv[3] === 'split',
  outExtension: { '.js': '.mjs' },
  plugins: [meta],
  metafile: true,
  banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
  external: [
    'pg-native',
    'better-sqlite3',
    'mysql',
    'mysql2',
    'oracledb',
    'sqlite3',
    'tedious',
    'pg-query-stream',
    'mariadb',
    'mariadb/callback',
  ],
  logLevel: 'warning',
});
console.log('ms', (performance.now() - t) | 0);
for (const [f, o] of Object.entries(r.metafile.outputs))
  if (o.bytes > 300000 || o.entryPoint) console.log(f, o.bytes, Object.keys(o.inputs).length);
