// npm run fuzz -- [--requests N] [--seed S]: random requests to every route of a whole Eligo, a million unless said otherwise.
import { parseArgs } from 'node:util';
import { runLong } from './run-long.ts';

const options = { requests: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '' } } as const;
const { values } = parseArgs({ options });
process.env.ELIGO_FUZZ_REQUESTS = values.requests;
if (values.seed !== '') process.env.ELIGO_TEST_SEED = values.seed;

process.exitCode = await runLong(['fuzz'], []);
