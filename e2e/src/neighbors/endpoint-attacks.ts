import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Constellation, waitUntil } from '@eligo/testkit';
import { records, text } from '../records.ts';
import { make, newCustomer } from '../shop.ts';
import type { Attack } from './attack.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { flood, type Prepared } from './flood.ts';
import { post, send } from './prepared.ts';
import { startSink } from './sink.ts';

/** The most that an account may have. */
const endpoints = 1_000;

/**
 * An account with as many endpoints as it may have, which makes events as fast as its key admits: each of its requests is a thousand deliveries. The names are those of a constellation whose
 * name servers are silent.
 */
export const endpointAttacks: readonly Attack[] = [
  toEndpoints('events for 1,000 endpoints', startSink, madeByCustomers),
  toEndpoints('retries of an event for 1,000 endpoints', startSink, madeByRetries),
  toEndpoints('events for 1,000 endpoints whose names are not answered for', async () => silentUrl, madeByCustomers),
  toEndpoints('events for 1,000 endpoints that flood interim responses', startInterimFlood, madeByCustomers),
];

// Each copy of the endpoint has a name of its own.
const silentUrl = 'http://n0.silent.example:9/hook';

/** Its endpoints are enabled only during its attack, and its backlog is thrown away with each round: it would be a part of every measurement that follows. */
function toEndpoints(
  name: string,
  startReceiver: () => Promise<string>,
  requestOf: (account: AttackingAccount) => Promise<Prepared>,
): Attack {
  return {
    ...{ name, isAlone: true, isWatched: true },
    async prepare(account) {
      const { eligo, id, api, unlimited, perSecond } = account;
      const webhook = { url: await startReceiver(), events: ['customer.created'] };
      await make(unlimited, '/v1/webhooks', 'webhook', webhook);
      await repeatEndpoint(eligo, id);
      const enable = (isEnabled: boolean) =>
        eligo.database.admin(
          `update webhooks.endpoints set status = case when $2 then 'enabled' else 'disabled' end, disabled_at = case when $2 then null else now() end,
             failures_in_row = 0, failing_since = null, open_until = null
           where account_id = $1`,
          [id, isEnabled],
        );
      await enable(false);
      return async (signal) => {
        await enable(true);
        const request = await requestOf(account);
        const report = await flood(signal, perSecond * 1.2, () => send(api, request));
        await enable(false);
        await forgetEvents(eligo, id);
        return report;
      };
    },
  };
}

async function madeByCustomers(): Promise<Prepared> {
  return post('/v1/customers', { customer: { email: 'ada@example.com' } });
}

async function madeByRetries({ unlimited }: AttackingAccount): Promise<Prepared> {
  await newCustomer(unlimited);
  const [event] = await waitUntil(
    async () => {
      const found = records(await unlimited.ok('GET', '/v1/events'), 'events');
      return found.length > 0 && found;
    },
    { what: 'the event of a customer' },
  );
  return { method: 'POST', path: `/v1/events/${text(event ?? {}, 'event_id')}/retry` };
}

// By the database, because a thousand requests take longer than the attack. A sealed secret opens for any endpoint of its account.
async function repeatEndpoint({ database }: Constellation, accountId: string): Promise<void> {
  const ids = `select 'fwh_' || lpad(n::text, 26, '0') as id, n from generate_series(1, ${endpoints - 1}) n`;
  await database.admin(
    `with added as (insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
       select account_id, test_mode, ids.id, replace(url, '//n0.', '//n' || ids.n || '.'), events, status, created_at
       from webhooks.endpoints one, (${ids}) ids where account_id = $1),
       lanes as (insert into webhooks.lanes (account_id, test_mode, endpoint_id)
         select account_id, test_mode, ids.id from webhooks.lanes one, (${ids}) ids where account_id = $1)
     insert into webhooks.endpoint_secrets (account_id, test_mode, endpoint_id, generation, sealed)
       select account_id, test_mode, ids.id, generation, sealed from webhooks.endpoint_secrets one, (${ids}) ids where account_id = $1`,
    [accountId],
  );
}

// The deliveries of an event end with it. The sender records attempts meanwhile, in an order of its own, so Postgres may end one of both.
async function forgetEvents({ database }: Constellation, accountId: string): Promise<void> {
  await waitUntil(
    async () => {
      try {
        for (const table of ['fan_outs', 'events']) {
          await database.admin(`delete from webhooks.${table} where account_id = $1`, [accountId]);
        }
        return true;
      } catch (error) {
        if ((error as { code?: unknown }).code === deadlock) return false;
        throw error;
      }
    },
    { what: 'that the backlog is gone' },
  );
}

const deadlock = '40P01';

/** A receiver in a thread of its own that sends interim responses until the connection ends. */
async function startInterimFlood(): Promise<string> {
  const worker = new Worker(interimFlood, { eval: true });
  worker.unref();
  const [port] = (await once(worker, 'message')) as [number];
  return `http://127.0.0.1:${port}/hook`;
}

const interimFlood = `
const flood = Buffer.from('HTTP/1.1 103 Early Hints\\r\\n\\r\\n'.repeat(2_000));
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => undefined).once('data', () => {
    const more = () => { while (!socket.destroyed && socket.write(flood)); };
    socket.on('drain', more);
    more();
  });
});
server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));
`;
