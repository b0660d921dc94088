import { existsSync } from 'node:fs';
import { homeAt, readStackFile, removeHome } from '@eligo/stack';
import pg from 'pg';
import type { Bench } from './bench.ts';
import { startStub } from './compare/start-stub.ts';
import type { WriteCosts } from './costs/write-costs.ts';
import { recordedOperations } from './costs/write-operations.ts';
import { type Operation, type Row, rowOf, type Topology, topologiesOf } from './figures.ts';
import { newHome } from './homes.ts';
import { againstFloor } from './operations/against-floor.ts';
import { capture } from './operations/capture.ts';
import { confirm } from './operations/confirm.ts';
import { createSession } from './operations/create-session.ts';
import { type Idle, measureIdle } from './operations/idle.ts';
import { keepUp } from './operations/keep-up.ts';
import { latency } from './operations/latency.ts';
import { listPricesDeep, listPricesLarge, listPricesOf } from './operations/list-prices.ts';
import { pageLoad, pagePay } from './operations/page.ts';
import { processorEvents, processorEventsP99 } from './operations/processor-events.ts';
import { readPriceOf } from './operations/read-price.ts';
import { refund } from './operations/refund.ts';
import { readsMeanwhile, renewalAgainstFloor, renewalFlat, renewalMemory, renewalTwo } from './operations/renewal.ts';
import { startTime } from './operations/start-time.ts';
import { webhook } from './operations/webhook.ts';
import { writeCosts } from './operations/write-costs.ts';
import type { Options } from './options.ts';
import type { Bare } from './processes/bare.ts';
import type { Floor } from './processes/floor.ts';
import type { LoadGenerator } from './processes/generator.ts';
import type { Receiver } from './processes/receiver.ts';
import type { Replay } from './processes/replay.ts';
import { startProgram, stopAll, type Worker, type WorkerMethods } from './processes/worker.ts';
import { quiet } from './quiet.ts';
import { type Recordings, recordOperations } from './recording/record-operations.ts';
import type { Compared } from './rounds.ts';
import { Seed } from './seed/seed.ts';
import { type StackProcess, startStackProcess } from './stack-process.ts';

const measures = {
  'read-price': readPriceOf(1),
  'read-price-10k': readPriceOf(0),
  'read-price-1m': readPriceOf(2),
  'list-prices': listPricesOf(1),
  'list-prices-10k': listPricesOf(0),
  'list-prices-1m': listPricesOf(2),
  'list-prices-large': listPricesLarge,
  'list-prices-deep': listPricesDeep,
  'create-session': createSession,
  confirm,
  refund,
  capture,
  'page-load': pageLoad,
  'page-pay': pagePay(['other']),
  'page-pay-two': pagePay(['health', 'other']),
  'create-session-floor': againstFloor('create-session', 'bare'),
  'confirm-floor': againstFloor('confirm', 'bare'),
  'confirm-floor-calls': againstFloor('confirm', 'calls'),
  'refund-floor': againstFloor('refund', 'bare'),
  'refund-floor-calls': againstFloor('refund', 'calls'),
  'renewal-floor': renewalAgainstFloor('bare'),
  'renewal-floor-calls': renewalAgainstFloor('calls'),
  'renewal-flat': renewalFlat,
  'renewal-memory': renewalMemory,
  'renewal-two': renewalTwo,
  'renewal-read-price': readsMeanwhile('read-price'),
  'renewal-list-prices': readsMeanwhile('list-prices'),
  'renewal-list-subscriptions': readsMeanwhile('list-subscriptions'),
  'renewal-list-invoices': readsMeanwhile('list-invoices'),
  webhook,
  'keep-up': keepUp,
  'processor-events': processorEvents,
  'processor-events-p99': processorEventsP99,
  latency,
} satisfies Partial<Record<Operation, (bench: Bench) => Promise<Measured>>>;

/** Brings everything up, measures what the options name, and takes everything down. Tells `onRow` of each row as it comes. */
export async function runBench(options: Options, onRow: (row: Row) => void): Promise<Row[]> {
  const home = options.home ?? newHome();
  const workers: Worker<WorkerMethods>[] = [];
  const rows: Row[] = [];
  const note = (row: Row) => {
    rows.push(row);
    onRow(row);
  };
  try {
    const [load, receiver, stub] = await Promise.all([
      startProgram<LoadGenerator>(workers, 'generator'),
      startProgram<Receiver>(workers, 'receiver'),
      startStub(workers),
    ]);
    const { pid: processorPid, port: processorPort, slow: slowProcessor } = stub;
    // The load says where each shopper's request comes from, as a proxy does: a page takes few from one address.
    const variables = { ...stub.variables, ELIGO_TRUSTED_PROXIES: '127.0.0.1' };
    const seed = new Seed(home, options.sizes);
    const recordings = await prepare(options, { home, variables }, seed);
    for (const topology of options.topologies) {
      const wanted = options.only.filter((operation) => topologiesOf(operation).includes(topology));
      const used = wanted.filter((operation): operation is UsedOperation => !isIdle(operation));
      if (used.length > 0) {
        const stack = await startStackProcess({ home, topology, variables });
        const place = { stack, options, load, receiver, processorPort, processorPid, slowProcessor, seed, recordings };
        try {
          await measureUsed(used, place, note);
        } finally {
          await stack.stop();
        }
      }
      if (wanted.some(isIdle)) await noteIdle(topology, wanted, options, note);
    }
  } finally {
    await stopAll(workers);
    if (options.home === undefined) removeHome(homeAt(home));
  }
  return rows;
}

// The rows of one stack, each with baselines of its own.
async function measureUsed(
  used: readonly UsedOperation[],
  place: Omit<Parameters<typeof benchOf>[0], 'postgres'>,
  note: (row: Row) => void,
): Promise<void> {
  const postgres = new pg.Pool({ connectionString: place.stack.file.postgres, max: 2 });
  try {
    for (const operation of used) {
      const baselines: Worker<WorkerMethods>[] = [];
      try {
        await measure(operation, benchOf({ ...place, postgres }, baselines), note);
      } finally {
        await stopAll(baselines);
      }
    }
  } finally {
    await postgres.end();
  }
}

type StackPlace = Parameters<typeof recordOperations>[0];

// The first start makes the database, so that no measured one does.
async function prepare(options: Options, place: StackPlace, seed: Seed): Promise<Recordings | undefined> {
  const recorded = recordedOperations.filter((operation) => options.only.includes(operation));
  if (recorded.length > 0) return recordOperations(place, (stack) => seed.shop(stack), recorded);
  if (options.only.every(isIdle)) return undefined;
  if (readStackFile(homeAt(place.home)) === undefined) {
    await (await startStackProcess({ ...place, topology: 'all-in-one' })).stop();
  }
  return undefined;
}

function benchOf(
  parts: Pick<
    Bench,
    'stack' | 'postgres' | 'load' | 'receiver' | 'processorPort' | 'processorPid' | 'slowProcessor'
  > & {
    readonly options: Options;
    readonly seed: Seed;
    readonly recordings: Recordings | undefined;
  },
  baselines: Worker<WorkerMethods>[],
): Bench {
  const { stack, seed, recordings } = parts;
  return {
    ...parts,
    sizes: parts.options.sizes,
    startBare: () => startProgram<Bare>(baselines, 'bare'),
    startFloor: () => startProgram<Floor>(baselines, 'floor'),
    startReplay: () => startProgram<Replay>(baselines, 'replay'),
    priceAccount: (size) => seed.priceAccount(stack, size),
    shop: () => seed.shop(stack),
    renewals: () => seed.renewals(stack, parts.postgres),
    frozen: (work) => frozen(stack, work),
    recordings() {
      if (recordings === undefined) throw new Error('nothing was recorded');
      return recordings;
    },
  };
}

async function frozen<Result>(stack: StackProcess, work: () => Promise<Result>): Promise<Result> {
  const pids = stack.ownPids();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
}

type IdleOperation = 'idle-statements' | 'memory';
type UsedOperation = Exclude<Operation, IdleOperation>;

function isIdle(operation: Operation): operation is IdleOperation {
  return operation === 'idle-statements' || operation === 'memory';
}

// Both are read from one stack, before anything else runs.
async function noteIdle(
  topology: Topology,
  wanted: readonly Operation[],
  { sizes }: Options,
  note: (row: Row) => void,
): Promise<void> {
  const idle: Idle = await measureIdle(topology, sizes.idleMs);
  for (const operation of wanted.filter(isIdle)) {
    const measured = operation === 'memory' ? idle.memory : idle.statements;
    if (measured !== undefined) note(rowOf(operation, topology, measured));
  }
}

async function measure(operation: UsedOperation, bench: Bench, note: (row: Row) => void): Promise<void> {
  const measured = await measureOnce(operation, bench);
  if (measured === undefined) return;
  const { costs, ...compared } = measured;
  const row = rowOf(operation, bench.stack.topology, compared);
  const write = recordedOperations.find((name) => name === operation);
  const isCosted = write !== undefined && existsSync('/proc/self/stat');
  const found = isCosted ? await writeCosts(bench, write) : costs;
  note(found === undefined ? row : { ...row, costs: found });
}

type Measured = Compared & { readonly costs?: WriteCosts };

async function measureOnce(operation: UsedOperation, bench: Bench): Promise<Measured | undefined> {
  if (operation === 'start') return startTime(bench.stack);
  // The events of one row must not be dealt with in the next.
  await quiet(bench.postgres);
  return measures[operation](bench);
}
