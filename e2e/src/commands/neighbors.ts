// npm run -s e2e:neighbors: what an account gets done while another one does its worst, with a test key's limit and with a live key's. Fails below the goal.
// `-- test` or `-- live` measures beside one of them, `-- split` an Eligo whose services are processes of their own, and `-- keys`, `-- pages`, `-- endpoints` or `-- long` the attacks of one kind.
import { attackKinds } from '../neighbors/attackers.ts';
import { runLong } from './run-long.ts';

const args = process.argv.slice(2);
const topology = args.includes('split') ? 'split' : 'all-in-one';
const key = args.find((arg) => arg === 'test' || arg === 'live') ?? '';
const kind = attackKinds.find((one) => args.includes(one));
if (kind !== undefined) process.env.ELIGO_ATTACKS = kind;
process.exitCode = await runLong(['neighbors'], ['-t', `neighbors, ${topology}.*with the limit of a ${key}`]);
