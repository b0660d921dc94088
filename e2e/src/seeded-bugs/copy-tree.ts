import { cpSync, existsSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';

/** What a test run needs of the repository. */
const parts = [
  ...[
    'proto',
    'packages',
    'gateway',
    'services',
    'sandbox',
    'stack',
    'testkit',
    'cli',
    'e2e',
    'bench',
    'web',
    'scripts',
  ],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'],
];

const leftBehind = new Set(['node_modules', '.eligo', '.turbo']);

/**
 * Copies the code into a folder under the repository's own `.eligo`, where Node finds what is installed by looking upwards; only the workspaces
 * are linked anew, so that the copy imports itself.
 */
export function copyTree(folder: string): void {
  for (const part of parts) {
    const from = join(repositoryRoot, part);
    if (!existsSync(from)) continue;
    cpSync(from, join(folder, part), { recursive: true, filter: (path) => !leftBehind.has(basename(path)) });
  }
  const links = join('node_modules', '@eligo');
  mkdirSync(join(folder, links), { recursive: true });
  for (const name of readdirSync(join(repositoryRoot, links))) {
    symlinkSync(readlinkSync(join(repositoryRoot, links, name)), join(folder, links, name));
  }
}
