import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build, type InlineConfig, type Plugin, type UserConfig } from 'vite';

const root = import.meta.dirname;

const shared = {
  root,
  // Beside the document, whatever path a proxy puts before it.
  base: './',
  publicDir: false,
  // The whole of its settings, so that no tsconfig.json above this folder is looked for.
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', tsconfigRaw: '{}' },
} satisfies UserConfig;

const output = {
  target: ['chrome111', 'firefox114', 'safari16.4'],
  modulePreload: { polyfill: false },
  // Nothing inside the page's document: its Content-Security-Policy runs and shows only what comes from a file.
  assetsInlineLimit: 0,
  reportCompressedSize: false,
} satisfies UserConfig['build'];

// Three documents: the page, which the gateway serves, and the card fields and the bank, which the sandbox serves on an origin of its own.
export default {
  ...shared,
  plugins: [frameDocuments({ 'fields.html': 'fields/main.ts', 'challenge.html': 'fields/challenge.ts' })],
  build: { ...output, rollupOptions: { input: `${root}/index.html` } },
} satisfies UserConfig;

/**
 * The documents of frames, each with its script and style inside it: 4 kB that a slow phone would wait two more round trips for. The sandbox allows them by
 * their hashes.
 */
function frameDocuments(entries: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'frame-documents',
    async generateBundle() {
      for (const [name, entry] of Object.entries(entries)) {
        const { script, style } = await bundle(entry);
        const document = readFileSync(`${root}/${name}`, 'utf8')
          .replace('</head>', () => `  <style>${style}</style>\n  </head>`)
          .replace('</body>', () => `  <script>${script}</script>\n  </body>`);
        this.emitFile({ type: 'asset', fileName: name, source: document });
      }
    },
  };
}

async function bundle(entry: string): Promise<{ readonly script: string; readonly style: string }> {
  const settings: InlineConfig = {
    ...{ ...shared, configFile: false, logLevel: 'warn' },
    build: {
      ...output,
      write: false,
      cssCodeSplit: false,
      rollupOptions: { input: `${root}/${entry}`, output: { format: 'iife', inlineDynamicImports: true } },
    },
  };
  const made = await build(settings);
  const files = (Array.isArray(made) ? made : [made]).flatMap((one) => ('output' in one ? one.output : []));
  const script = files.flatMap((file) => (file.type === 'chunk' ? [file.code.trim()] : [])).join('');
  const style = files
    .flatMap((file) => (file.type === 'asset' && file.fileName.endsWith('.css') ? [String(file.source).trim()] : []))
    .join('');
  // Either would end its element, or begin a comment.
  if (/<\/(?:script|style)|<!--/i.test(script + style))
    throw new Error(`${basename(entry)} cannot stand inside a document`);
  return { script, style };
}
