// npm run restarts: kills whole stacks, in one process and in one per service, with and without their Postgres and NATS, and starts them again on their data, or on
// what is restored of it.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(
  ['stack/test/start.test.ts', 'stack/test/start.split.test.ts', 'stack/test/restored-dumps.test.ts'],
  process.argv.slice(2),
  ['stack'],
);
