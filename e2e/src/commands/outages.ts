// npm run outages: NATS killed five times in 25,000 events, receivers down for days under 10,000 events, one dead and one silent among fifty.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(
  ['packages/events/test/kill.test.ts', 'services/webhooks/test/outage.test.ts'],
  process.argv.slice(2),
  ['events', 'webhooks'],
);
