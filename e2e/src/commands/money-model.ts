// npm run money-model: 10,000 random sequences of captures, refunds, failures and disputes against a simple model; ELIGO_TEST_SEED=… repeats a run.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['money-model.test.ts'], process.argv.slice(2), ['checkout']);
