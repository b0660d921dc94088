// npm run -s e2e:attack: the attacks of docs/security-testing.md, against real servers on this machine.
import { runLong } from './run-long.ts';

process.exitCode = await runLong(
  [
    ...['names', 'breaker', 'reach', 'fairness', 'target', 'keyring'].map(
      (name) => `services/webhooks/test/${name}.test.ts`,
    ),
    ...[
      'server',
      'body-budget',
      'dear-requests',
      'cost-shares',
      'rate-limits',
      'multipart',
      'files',
      'reports',
      'http-by-hand',
    ].map((name) => `gateway/test/${name}.test.ts`),
    'packages/events/test/full-store.test.ts',
    ...['start', 'watch-nats', 'log-file'].map((name) => `stack/test/${name}.test.ts`),
    ...['boot', 'main-process', 'environment', 'keyring', 'redaction', 'disk-watch', 'call-turns'].map(
      (name) => `packages/service/test/${name}.test.ts`,
    ),
    'packages/postgres/test/database.test.ts',
    ...[
      'packages/contract/test/card-number.test.ts',
      'packages/rpc/test/connect-json.test.ts',
      'packages/rpc/test/identity.test.ts',
      'sandbox/test/conformance.test.ts',
    ],
  ],
  process.argv.slice(2),
  ['webhooks', 'gateway', 'events', 'stack', 'service', 'postgres', 'contract', 'rpc', 'sandbox'],
);
