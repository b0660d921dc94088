import { defineConfig } from 'vite';

// Three documents: the page, which the gateway serves, and the card fields and the bank, which the sandbox serves on an origin of its own.
export default defineConfig({
  root: import.meta.dirname,
  // Beside the document, whatever path a proxy puts before it.
  base: './',
  publicDir: false,
  // The whole of its settings, so that no tsconfig.json above this folder is looked for.
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', tsconfigRaw: '{}' },
  build: {
    target: ['chrome111', 'firefox114', 'safari16.4'],
    modulePreload: { polyfill: false },
    // Nothing inside the documents: their Content-Security-Policy runs and shows only what comes from a file.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: {
      input: ['index.html', 'fields.html', 'challenge.html'].map((name) => `${import.meta.dirname}/${name}`),
    },
  },
});
