import { join } from 'node:path';
import { defaultExclude, defineConfig } from 'vitest/config';
import { buildPrograms } from './scripts/bootstrap/build-programs.mjs';
import { generateCode } from './scripts/bootstrap/generate.mjs';
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
  pdf: 'packages/pdf',
  ledger: 'packages/ledger',
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
  'pdf',
  'ledger',
  'scripts',
  'sandbox',
  'web-checkout',
]);

/**
 * Each file of these has a process of its own: they start whole systems, measure memory, or change the environment. The files of the other
 * projects share their worker's modules, so that each worker loads them once and not once per file.
 */
const isolated = new Set(['processes', 'stack', 'testkit', 'cli', 'bench', 'scripts', 'web-checkout']);

/** These run constellations, whose logs belong to what a failed test says. */
const withLogs = new Set(['e2e', 'cli', 'testkit']);

// A clone has its packages alone. What tests start as processes of their own is built from the generated code, too.
await generateCode(import.meta.dirname);
await buildPrograms(import.meta.dirname);

const globalSetup = join(import.meta.dirname, 'testkit/src/global-setup.ts');
const tellLogs = join(import.meta.dirname, 'testkit/src/tell-logs-of-failed.ts');

export default defineConfig({
  test: {
    pool: 'forks',
    // Two cores: a worker waits for a fifth of its time, for processes that start and for servers. With a fourth one, those that wait for a deadline would miss it.
    maxWorkers: 3,
    retry: 0,
    sequence: { sequencer: LongestFirst },
    // Generous, since only a failure uses it up: a disk that stalls for seconds fails no test.
    testTimeout: 60_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000, interval: 25 } },
    projects: Object.entries(projects).map(([name, root]) => ({
      extends: true as const,
      test: {
        name,
        root,
        include: ['src/**/*.test.ts', 'test/**/*.test.ts', '*.test.ts', 'checks/*.test.ts'],
        exclude: [...defaultExclude, ...(process.env.ELIGO_TEST_LONG === 'on' ? [] : ['**/*.long.test.ts'])],
        isolate: isolated.has(name),
        globalSetup: pure.has(name) ? [] : [globalSetup],
        setupFiles: withLogs.has(name) ? [tellLogs] : [],
      },
    })),
  },
});
