import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type Collector, startCollector } from '../src/collector.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { describeConfirmTable } from './confirm-table.ts';
import { connectionCaps, describeConnectionCaps } from './connection-caps.ts';
import { describeLetterDecisions } from './letter-decisions.ts';
import { describeMainPath } from './main-path.ts';
import { describeProbes } from './probes.ts';
import { describeRolling, drainDelay, twoOfSome } from './rolling.ts';
import { describeTraces } from './traces.ts';
import { describeUnreadyPart } from './unready-part.ts';

describe('each part of Eligo in a process of its own', () => {
  let eligo: Constellation;
  let collector: Collector;
  beforeAll(async () => {
    collector = await startCollector();
    const environment = {
      ...drainDelay,
      ...connectionCaps,
      // What a request leaves in the logs is looked at, each call of a service included.
      LOG_LEVEL: 'debug',
      ELIGO_RATE_LIMIT_FAILED_AUTH: '100000',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    };
    eligo = await startConstellation({ topology: 'split', environment, replicas: { ...twoOfSome, checkout: 2 } });
  }, 120_000);
  afterAll(async () => {
    await stopWithBooks(eligo);
    await collector?.close();
  }, 60_000);

  describeMainPath(() => eligo);
  describeConfirmTable(() => eligo);
  describeTraces(() => ({ eligo, collector }));
  describeLetterDecisions(() => eligo);
  // The gateway refuses most bad input, and it is the same code as in one process.
  describeProbes(() => eligo, isLongRun ? 1 : 5);
  describeConnectionCaps(() => eligo);
  describeUnreadyPart(() => eligo);
  describeRolling(() => eligo);
});
