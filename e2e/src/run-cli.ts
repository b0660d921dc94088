import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programFile } from '@eligo/processes/programs';
import { repositoryRoot } from '@eligo/stack';
import type { Constellation } from '@eligo/testkit';
import type { Json } from './records.ts';

const main = programFile(repositoryRoot, 'cli');

/** Runs the command-line tool as an operator does, in a process of its own, and answers the object that `--json` prints. */
export async function runCli(
  eligo: Constellation,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Json> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], {
    env: {
      ...process.env,
      GATEWAY_DATABASE_URL: eligo.database.urlOf('gateway'),
      DATABASE_URL: eligo.database.adminUrl,
      ...environment,
    },
  });
  return JSON.parse(stdout) as Json;
}
