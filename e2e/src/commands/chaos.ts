// npm run chaos: 500 sessions under at least 30 kills, full disks and lost streams, then 120 whose clients never ask again; ELIGO_TEST_SEED=… for the victims of an earlier run.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['chaos'], ['-t', 'kills', ...process.argv.slice(2)]);
