import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Constellation } from '@eligo/testkit';
import type { Json } from './records.ts';

const main = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));

/** Runs the command-line tool as an operator does, in a process of its own, and answers the object that `--json` prints. */
export async function runCli(eligo: Constellation, args: readonly string[]): Promise<Json> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], {
    env: {
      ...process.env,
      GATEWAY_DATABASE_URL: eligo.database.urlOf('gateway'),
      DATABASE_URL: eligo.database.adminUrl,
    },
  });
  return JSON.parse(stdout) as Json;
}
