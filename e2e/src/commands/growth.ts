// npm run growth: what each statement reads in accounts of 1,000 and of 100,000 records of each kind.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(['growth.test.ts'], process.argv.slice(2), [
  'catalog',
  'checkout',
  'billing',
  'refunds',
  'webhooks',
  'gateway',
  'events',
]);
