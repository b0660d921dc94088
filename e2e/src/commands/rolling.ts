// npm run -s e2e:rolling: restarts two gateways and two of each service, one after the other, under load.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@eligo/ports';
import { componentNames, makeHome, removeHome, startStack } from '@eligo/stack';
import { restartPart } from '@eligo/testkit';
import { runRolling } from '../rolling/run-rolling.ts';

const clientsAtOnce = 4;

const home = makeHome(mkdtempSync(join(tmpdir(), 'eligo-rolling-')));
const stack = await startStack({
  home: home.root,
  port: await freePort(),
  split: true,
  replicas: Object.fromEntries(componentNames.map((name) => [name, 2])),
  environment: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'warn', ELIGO_DRAIN_DELAY_MS: '3000' },
  longestRestartDelayMs: 400,
  onTrouble: (text) => process.stderr.write(`eligo: ${text}\n`),
}).catch((error: unknown) => {
  removeHome(home);
  throw error;
});
try {
  const restart = (name: string) => restartPart(stack, name);
  const rounds = componentNames.flatMap((name) => [[name], [`${name}-2`]]);
  const target = { ...stack, testApiKey: stack.demo.testApiKey, restart };
  const { failures, ...report } = await runRolling(target, rounds, clientsAtOnce);
  process.stdout.write(`${JSON.stringify({ restarts: rounds.length, ...report, failures: failures.length })}\n`);
  for (const failure of failures.slice(0, 20)) process.stderr.write(`${failure}\n`);
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  removeHome(home);
}
