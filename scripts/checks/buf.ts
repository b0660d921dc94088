import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { root } from '../turbo.ts';

/** The image that `npm run release:proto` wrote last: what is deployed understands it, so nothing may break it. */
export const baseline = join(root, 'proto', 'baseline.binpb');

/** buf's lint findings in a folder of definitions, one a line; none when it is clean. */
export function lint(folder: string): string[] {
  return findings(['lint'], folder);
}

/** What in a folder of definitions would break peers that speak the baseline. */
export function breakingChanges(folder: string, against = baseline): string[] {
  return findings(['breaking', '--against', against], folder);
}

/** Writes the image of a folder of definitions. */
export function writeImage(folder: string, path: string): void {
  const trouble = findings(['build', '-o', path], folder);
  if (trouble.length > 0) throw new Error(trouble.join('\n'));
}

function findings(args: string[], folder: string): string[] {
  const answer = spawnSync(join(root, 'node_modules', '.bin', 'buf'), args, {
    cwd: resolve(root, folder),
    encoding: 'utf8',
  });
  if (answer.error) throw answer.error;
  if (answer.status === 0) return [];
  const lines = `${answer.stdout}${answer.stderr}`.split('\n').filter(Boolean);
  // buf says 100 for findings; anything else is a failure of its own.
  if (answer.status !== 100) throw new Error(`buf ${args[0]} failed: ${lines.join('\n')}`);
  return lines;
}
