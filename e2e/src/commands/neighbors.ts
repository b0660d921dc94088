// npm run -s e2e:neighbors: what an account gets done while another one does its worst. Fails below the goal.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['chaos'], ['-t', 'neighbors', ...process.argv.slice(2)]);
