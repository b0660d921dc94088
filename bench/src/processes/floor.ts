// The floor: the least that each write must make durable, written by hand, from one process with a pool as large as the service's.
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import type { WriteOperation } from '../costs/write-operations.ts';
import { floorSchema } from '../floor/schema.ts';
import {
  confirmClaim,
  confirmSettle,
  createStatements,
  type FloorStatement,
  fence,
  refundClaim,
  refundSettle,
  renewalClaim,
  renewalSettle,
  type Sale,
  subscribeStatements,
} from '../floor/statements.ts';
import { requestText } from '../requests.ts';
import type { Round } from '../rounds.ts';
import { Connection } from './connection.ts';
import { serve } from './worker.ts';

/** Where the floor works, and what it sends besides statements. */
export interface FloorPlace {
  /** The superuser's: the floor has a schema of its own. */
  readonly databaseUrl: string;
  readonly poolSize: number;
  readonly connections: number;
  /** The stub processor's port, for the form that calls it as Eligo does; undefined for the bare one. */
  readonly processorPort: number | undefined;
}

/** What the floor can do. */
export type FloorOperation = WriteOperation | 'renewal';

export type Floor = {
  open(place: FloorPlace): Promise<void>;
  /** Prepares as many sales for each connection and carries out the operation on each; only this is timed. */
  run(input: { readonly operation: FloorOperation; readonly perConnection: number }): Promise<Round>;
};

const methods: Floor = { open, run };

if (process.send !== undefined) serve(methods);

let opened: { readonly pool: pg.Pool; readonly processor: readonly (Connection | undefined)[] } | undefined;
let sales = 0;

function nextSale(): Sale {
  sales += 1;
  return { id: String(sales) };
}

async function open({ databaseUrl, poolSize, connections, processorPort }: FloorPlace): Promise<void> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    options: '-c jit=off -c search_path=bench_floor',
    pipeline: true,
  } as pg.PoolConfig);
  await pool.query(floorSchema);
  const processor = Array.from({ length: connections }, () =>
    processorPort === undefined ? undefined : Connection.open(processorPort),
  );
  opened = { pool, processor: await Promise.all(processor) };
}

async function run(input: Parameters<Floor['run']>[0]): Promise<Round> {
  if (opened === undefined) throw new Error('the floor is not open');
  const { pool, processor } = opened;
  const lists = processor.map(() => Array.from({ length: input.perConnection }, nextSale));
  const everywhere = (carryOut: (sale: Sale, connection: Connection | undefined) => Promise<void>) =>
    Promise.all(
      lists.map(async (list, index) => {
        for (const sale of list) await carryOut(sale, processor[index]);
      }),
    );
  const create = (sale: Sale) => commit(pool, createStatements(sale));
  const steps = {
    'create-session': [create],
    confirm: [create, (sale: Sale, calls: Connection | undefined) => confirm(pool, sale, calls)],
    refund: [
      create,
      (sale: Sale) => confirm(pool, sale, undefined),
      (sale: Sale, calls: Connection | undefined) => refund(pool, sale, calls),
    ],
    renewal: [
      (sale: Sale) => commit(pool, subscribeStatements(sale)),
      (sale: Sale, calls: Connection | undefined) => renew(pool, sale, calls),
    ],
  }[input.operation];
  for (const step of steps.slice(0, -1)) await everywhere(step);
  const startedAt = performance.now();
  for (const step of steps.slice(-1)) await everywhere(step);
  const count = lists.reduce((sum, list) => sum + list.length, 0);
  return { count, perSecond: (count * 1_000) / (performance.now() - startedAt) };
}

async function confirm(pool: pg.Pool, sale: Sale, processor: Connection | undefined): Promise<void> {
  await commit(pool, confirmClaim(sale));
  await charge(pool, sale, processor);
  await commit(pool, confirmSettle(sale));
}

async function renew(pool: pg.Pool, sale: Sale, processor: Connection | undefined): Promise<void> {
  await commit(pool, renewalClaim(sale));
  await charge(pool, sale, processor);
  await commit(pool, renewalSettle(sale));
}

async function charge(pool: pg.Pool, sale: Sale, processor: Connection | undefined): Promise<void> {
  if (processor === undefined) return;
  const made = await call(processor, '/v1/payment_intents', { amount: '19996', currency: 'usd', customer: sale.id });
  await commit(pool, fence(sale, made));
  await call(processor, `/v1/payment_intents/${made}/confirm`, {});
}

async function refund(pool: pg.Pool, sale: Sale, processor: Connection | undefined): Promise<void> {
  await commit(pool, refundClaim(sale));
  if (processor !== undefined) await call(processor, '/v1/refunds', { amount: '19996', payment_intent: sale.id });
  await commit(pool, refundSettle(sale));
}

// A transaction in one round trip: none of its statements needs the answer of another.
async function commit(pool: pg.Pool, statements: readonly FloorStatement[]): Promise<void> {
  const client = await pool.connect();
  try {
    const sent = [
      client.query('begin'),
      ...statements.map(({ name, text, values }) => client.query({ name, text, values: [...values] })),
    ];
    await Promise.all([...sent, client.query('commit')]);
  } finally {
    client.release();
  }
}

async function call(processor: Connection, path: string, fields: Record<string, string>): Promise<string> {
  const content = { text: new URLSearchParams(fields).toString(), type: 'application/x-www-form-urlencoded' };
  const answer = await processor.send(requestText('POST', path, 'sk_test_bench', content));
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
  return (JSON.parse(answer.body()) as { id: string }).id;
}
