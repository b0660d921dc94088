// npm run -s e2e:neighbors: what an account gets done while another one does its worst, with a test key's limit and with a live key's. Fails below the goal.
// `-- test`, `-- live` or `-- limited` measures one of them, `-- split` an Eligo whose services are processes of their own, and `-- keys`, `-- writes`, `-- pages`, `-- endpoints` or `-- long` the
// attacks of one kind.
import { attackKinds } from '../neighbors/attacks.ts';
import { runLong } from './run-long.ts';

const args = process.argv.slice(2);
const topology = args.includes('split') ? 'split' : 'all-in-one';
const tests: Readonly<Record<string, string>> = {
  test: 'with the limit of a test key',
  live: 'with the limit of a live key',
  limited: 'with the same limit',
};
const test = args.map((arg) => tests[arg]).find((one) => one !== undefined) ?? '';
const kind = attackKinds.find((one) => args.includes(one));
if (kind !== undefined) process.env.ELIGO_ATTACKS = kind;
process.exitCode = await runLong(['neighbors.test'], ['-t', `neighbors, ${topology}.*${test}`]);
