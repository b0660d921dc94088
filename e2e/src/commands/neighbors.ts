// npm run -s e2e:neighbors: what an account gets done while another one does its worst, with a test key's limit and with a live key's. Fails below the goal.
// `-- test` or `-- live` measures beside one of them.
import { runLong } from './run-long.ts';

const [key = ''] = process.argv.slice(2);
process.exitCode = await runLong(['chaos'], ['-t', `neighbors.*with the limit of a ${key}`]);
