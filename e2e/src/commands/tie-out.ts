// npm run tie-out: a day of 10,000 mixed movements that ties out to the cent with the sandbox's own balance; -- --movements N, ELIGO_TEST_SEED=….
import { runLong } from './run-long.ts';

const args = process.argv.slice(2);
const at = args.indexOf('--movements');
if (at >= 0) process.env.ELIGO_TEST_MOVEMENTS = args.splice(at, 2)[1] ?? '';
process.exitCode = await runLong(['ledger-check.in-process.test.ts', '-t', 'after a day of mixed movements'], args);
