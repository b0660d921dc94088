import { spawn } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';

/** How a test ended. */
export interface Ended {
  readonly name: string;
  readonly passed: boolean;
  /** What it failed with. */
  readonly message: string;
}

interface Report {
  readonly testResults: {
    readonly message?: string;
    readonly assertionResults: {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: string[];
    }[];
  }[];
}

/** Runs tests of the e2e project of a copy of the code, those whose names contain one of `names`; resolves with how each ended. */
export async function runTests(folder: string, file: string, names: readonly string[]): Promise<Ended[]> {
  const results = join(folder, 'results.json');
  const pattern = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const log = createWriteStream(join(folder, 'run.log'));
  const vitest = join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [
    'run',
    '--root',
    folder,
    '--project',
    'e2e',
    file,
    '-t',
    pattern,
    '--reporter=json',
    `--outputFile=${results}`,
  ];
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: folder,
    // The short form leaves out some of the kills.
    env: { ...process.env, ELIGO_TEST_LONG: 'on' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const stop = () => child.kill('SIGTERM');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  if (!existsSync(results))
    throw new Error(`the tests did not run:\n${readFileSync(join(folder, 'run.log'), 'utf8').slice(-2_000)}`);
  const report = JSON.parse(readFileSync(results, 'utf8')) as Report;
  return report.testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages }) => ({
        name: fullName,
        passed: status === 'passed',
        message: (failureMessages ?? []).join('\n'),
      })),
  );
}
