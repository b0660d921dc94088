// npm run failpoints [-- -t PART_OF_A_NAME]: every failpoint with every retry, in all-in-one and in split.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['failpoints'], process.argv.slice(2));
