// The baseline of writes: sends what an operation must make durable, as it was recorded, from one process with a pool as large as the service's.
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { freshValues } from '../recording/fresh-values.ts';
import type { ReplayedStatement, Transaction } from '../recording/transactions.ts';
import { serve } from './worker.ts';

/** What to replay. */
export interface Replayed {
  readonly databaseUrls: Readonly<Record<string, string>>;
  readonly poolSize: number;
  readonly transactions: readonly Transaction[];
}

/** For each of the loops that run at once, what stands for the recorded identifiers in each of its runs. */
export type Runs = readonly (readonly ReadonlyMap<string, string>[])[];

export type Replay = {
  open(replayed: Replayed): void;
  run(runs: Runs): Promise<{ perSecond: number; count: number }>;
};

const methods: Replay = { open, run };

if (process.send !== undefined) serve(methods);

let opened: { readonly replayed: Replayed; readonly pools: ReadonlyMap<string, pg.Pool> } | undefined;

function open(replayed: Replayed): void {
  const pools = new Map(
    Object.entries(replayed.databaseUrls).map(([role, connectionString]) => [
      role,
      new pg.Pool({ connectionString, max: replayed.poolSize, options: '-c jit=off', pipeline: true } as pg.PoolConfig),
    ]),
  );
  opened = { replayed, pools };
}

async function run(runs: Runs): Promise<{ perSecond: number; count: number }> {
  if (opened === undefined) throw new Error('nothing to replay');
  const { transactions } = opened.replayed;
  // Made before the clock starts: the limit is what Postgres and the driver can do, not what a replay can copy.
  const prepared = runs.map((loop) =>
    loop.map((known) => {
      const fresh = freshValues(known);
      return transactions.map(({ role, statements }) => ({
        role,
        statements: statements.map((statement) => ({ ...statement, values: fresh(statement.values) })),
      }));
    }),
  );
  const { pools } = opened;
  const startedAt = performance.now();
  await Promise.all(
    prepared.map(async (loop) => {
      for (const operation of loop) for (const transaction of operation) await replay(pools, transaction);
    }),
  );
  const count = runs.reduce((sum, loop) => sum + loop.length, 0);
  return { perSecond: (count * 1_000) / (performance.now() - startedAt), count };
}

async function replay(pools: ReadonlyMap<string, pg.Pool>, { role, statements }: Transaction): Promise<void> {
  const client = await pools.get(role)?.connect();
  if (client === undefined) throw new Error(`no connection as ${role}`);
  try {
    for (let at = 0; at < statements.length; ) {
      const sent: Promise<unknown>[] = [];
      do {
        const statement = statements[at];
        if (statement !== undefined) sent.push(send(client, statement));
        at += 1;
      } while (statements[at]?.together);
      await Promise.all(sent);
    }
  } finally {
    client.release();
  }
}

async function send(client: pg.PoolClient, { name, text, values }: ReplayedStatement): Promise<void> {
  if (name === undefined && values.length === 0) await client.query(text);
  else await client.query({ ...(name === undefined ? {} : { name }), text, values: [...values] });
}
