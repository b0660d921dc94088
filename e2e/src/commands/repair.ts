// npm run repair -- --rows N: the stream of an outbox of N events (10,000,000) is removed; all are delivered once, and new events do not wait for them.
import { parseArgs } from 'node:util';
import { runLong } from './run-long.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '10000000' } } });
if (!/^[1-9]\d{3,7}$/.test(values.rows)) throw new Error('--rows is from 1000 to 99999999');
process.env.ELIGO_TEST_REPAIR_ROWS = values.rows;
process.exitCode = await runLong(
  ['packages/events/test/repair.test.ts', '--testNamePattern', 'a stream that was removed'],
  [],
  ['events'],
);
