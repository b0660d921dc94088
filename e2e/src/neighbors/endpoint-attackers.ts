import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Constellation, waitUntil } from '@eligo/testkit';
import { make } from '../shop.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { type Attacker, flood, type Prepared, sendPrepared } from './flood.ts';

/** The most that an account may have. */
const endpoints = 1_000;

/**
 * An account with as many endpoints as it may have, which makes events as fast as its key admits: each of its requests is a thousand deliveries, which its receiver takes at once. Its endpoints are
 * enabled only during its attack, and its backlog is thrown away with each round: it would be a part of every measurement that follows.
 */
export async function endpointAttackers(account: AttackingAccount): Promise<Attacker[]> {
  const { eligo, id, api, unlimited, perSecond } = account;
  await make(unlimited, '/v1/webhooks', 'webhook', { url: await startSink(), events: ['customer.created'] });
  await repeatEndpoint(eligo, id);
  const enable = (isEnabled: boolean) =>
    eligo.database.admin(
      `update webhooks.endpoints set status = case when $2 then 'enabled' else 'disabled' end, disabled_at = case when $2 then null else now() end,
         failures_in_row = 0, failing_since = null, open_until = null
       where account_id = $1`,
      [id, isEnabled],
    );
  await enable(false);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${api.key}` };
  const body = Buffer.from(JSON.stringify({ customer: { email: 'ada@example.com' } }));
  const sent: Prepared = { method: 'POST', path: '/v1/customers', headers, body };
  const attack = async (signal: AbortSignal) => {
    await enable(true);
    const report = await flood(signal, perSecond * 1.2, () => sendPrepared(eligo.url, sent));
    await enable(false);
    await forgetEvents(eligo, id);
    return report;
  };
  return [{ name: 'events for 1,000 endpoints', attack }];
}

// By the database, because a thousand requests take longer than the attack. A sealed secret opens for any endpoint of its account.
async function repeatEndpoint({ database }: Constellation, accountId: string): Promise<void> {
  const ids = `select 'fwh_' || lpad(n::text, 26, '0') as id from generate_series(1, ${endpoints - 1}) n`;
  await database.admin(
    `with added as (insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
       select account_id, test_mode, ids.id, url, events, status, created_at from webhooks.endpoints one, (${ids}) ids where account_id = $1),
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

/** A receiver in this process that answers 204 and keeps nothing. */
async function startSink(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(204).end());
  });
  server.on('connection', (socket) => socket.unref());
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}
