// The baseline of reads: Koa and pg, one prepared query, JSON out; no key, no validation, no other service.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';
import { serve } from './worker.ts';

/** One query, whose values are the last segment of the path and what is fixed, in the order that `values` says. */
export interface BareQuery {
  readonly databaseUrl: string;
  readonly connections: number;
  readonly text: string;
  /** `null` stands for the last segment of the path. */
  readonly values: readonly (string | number | boolean | null)[];
  /** Whether the answer is the one row or a list of all. */
  readonly one: boolean;
}

export type Bare = { open(query: BareQuery): Promise<number> };

const methods: Bare = { open };

if (process.send !== undefined) serve(methods);

async function open(query: BareQuery): Promise<number> {
  const pool = new pg.Pool({ connectionString: query.databaseUrl, max: query.connections });
  const app = new Koa();
  app.use(async (context) => {
    const id = context.path.slice(context.path.lastIndexOf('/') + 1);
    const values = query.values.map((value) => (value === null ? id : value));
    const { rows } = await pool.query({ name: 'bare', text: query.text, values });
    if (query.one && rows.length !== 1) context.throw(404);
    context.body = query.one ? rows[0] : { rows };
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
