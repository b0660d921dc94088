import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

/** The files of a clone that a build would see: what git knows, less what .dockerignore keeps out. */
export function buildContext(root: string): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const patterns = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return [...new Set(listed.split('\n'))].filter(
    (file) => file !== '' && !isIgnored(file, patterns) && existsSync(join(root, file)),
  );
}

/** The last pattern that fits a file or one of the folders above it decides, as docker has it. */
export function isIgnored(file: string, patterns: readonly string[]): boolean {
  const parts = file.split('/');
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  let ignored = false;
  for (const pattern of patterns) {
    const isException = pattern.startsWith('!');
    const glob = isException ? pattern.slice(1) : pattern;
    if (paths.some((path) => matchesGlob(path, glob))) ignored = !isException;
  }
  return ignored;
}
