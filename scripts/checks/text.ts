// What no tool forbids: words and calls that must not stand in the code at all.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../turbo.ts';
import { bannedIn } from './banned.ts';

const files = execFileSync(
  'git',
  // The schemas of docs/schema are written by a test.
  [
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '*.ts',
    '*.tsx',
    '*.mts',
    '*.mjs',
    '*.sql',
    ':!docs/schema',
  ],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter(Boolean);

const found = files.flatMap((file) => bannedIn(file, readIfThere(join(root, file))));
for (const line of found) console.error(line);
console.log(`${files.length} files checked, ${found.length} findings`);
process.exitCode = found.length === 0 ? 0 : 1;

// git also lists what was removed a moment ago.
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
