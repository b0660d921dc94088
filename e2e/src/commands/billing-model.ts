// npm run billing-model: 1,000 subscriptions over 36 months against a simple model of what they are billed; ELIGO_TEST_SEED=… repeats a run.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['years.test.ts'], process.argv.slice(2), ['billing']);
