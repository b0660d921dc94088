import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';

const projects = {
  values: 'packages/values',
  failures: 'packages/failures',
  contract: 'packages/contract',
  ports: 'packages/ports',
  rpc: 'packages/rpc',
  postgres: 'packages/postgres',
  events: 'packages/events',
  processes: 'packages/processes',
  processor: 'packages/processor',
  mail: 'packages/mail',
  service: 'packages/service',
  gateway: 'gateway',
  catalog: 'services/catalog',
  checkout: 'services/checkout',
  billing: 'services/billing',
  refunds: 'services/refunds',
  webhooks: 'services/webhooks',
  sandbox: 'sandbox',
  stack: 'stack',
  testkit: 'testkit',
  cli: 'cli',
  e2e: 'e2e',
  bench: 'bench',
  scripts: 'scripts',
  'web-checkout': 'web/checkout',
};

/** These know neither a database nor a bus, or bring their own: the servers of the run are not started for them. */
const pure = new Set([
  'values',
  'failures',
  'contract',
  'ports',
  'rpc',
  'processes',
  'processor',
  'mail',
  'scripts',
  'sandbox',
  'bench',
  'web-checkout',
]);

const globalSetup = join(import.meta.dirname, 'testkit/src/global-setup.ts');

export default defineConfig({
  test: {
    pool: 'forks',
    // Two cores: more workers only make the ones that wait for a deadline miss it.
    maxWorkers: 2,
    retry: 0,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: Object.entries(projects).map(([name, root]) => ({
      extends: true as const,
      test: {
        name,
        root,
        include: ['src/**/*.test.ts', 'test/**/*.test.ts', '*.test.ts', 'checks/*.test.ts'],
        globalSetup: pure.has(name) ? [] : [globalSetup],
      },
    })),
  },
});
