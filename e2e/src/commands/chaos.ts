// npm run chaos: 500 sessions under at least 30 kills; ELIGO_TEST_SEED=… for the victims of an earlier run.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['chaos'], process.argv.slice(2));
