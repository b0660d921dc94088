// npm run -s e2e:neighbors: what an account gets done while another one does its worst, with a test key's limit and with a live key's. Fails below the goal.
// `-- test` or `-- live` measures beside one of them, and `-- split` an Eligo whose services are processes of their own.
import { runLong } from './run-long.ts';

const args = process.argv.slice(2);
const topology = args.includes('split') ? 'split' : 'all-in-one';
const key = args.find((arg) => arg !== 'split') ?? '';
process.exitCode = await runLong(['chaos'], ['-t', `neighbors, ${topology}.*with the limit of a ${key}`]);
