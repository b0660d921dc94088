// The test run itself, as turbo's task test:all calls it; further arguments are vitest's.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from './turbo.ts';

const results = process.env.ELIGO_TEST_RESULTS;
const report = results ? ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`] : [];
const vitest = spawn(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...report, ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => vitest.kill(signal));
vitest.once('error', (error) => {
  throw error;
});
vitest.once('exit', async (code) => {
  process.exitCode = code ?? 1;
  // One that was told to stop leaves its servers behind, and so do the workers that went with it.
  const { removeDeadHomes } = await import('@eligo/testkit/homes');
  await removeDeadHomes();
});
