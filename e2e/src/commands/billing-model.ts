// npm run billing-model: 1,000 subscriptions over 36 months against a simple model of what they are billed, in one process with lost calls, and then with real
// processes that are killed; -- --subscriptions N --months M sizes the second part, ELIGO_TEST_SEED=… repeats a run.
import { runLong } from './run-long.ts';

const args = process.argv.slice(2);
for (const name of ['subscriptions', 'months']) {
  const at = args.indexOf(`--${name}`);
  if (at >= 0) process.env[`ELIGO_TEST_${name.toUpperCase()}`] = args.splice(at, 2)[1] ?? '';
}
process.exitCode = await runLong(['years.test.ts', 'killed-renewals.test.ts'], args, ['billing', 'e2e']);
