import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { repositoryRoot } from '@eligo/stack';

/** What a ratio was measured on: figures of different machines are not comparable, ratios nearly are. */
export function describeMachine(): string {
  const [first] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, ${gigabytes} GB, ${process.platform} ${process.arch}, Node ${process.version}`;
}

/** When a run was, of which commit and on what, for a document that outlives it. A commit with changes on top is marked by a plus. */
export function describeRun(): string {
  return `${new Date().toISOString().slice(0, 10)}, ${describeCommit()}: ${describeMachine()}`;
}

function describeCommit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return `commit ${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`;
  } catch {
    return 'outside of a git checkout';
  }
}
