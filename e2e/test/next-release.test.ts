import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, migrationSource, serviceRole } from '@eligo/postgres';
import { loadCompositions } from '@eligo/stack';
import { type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, text } from '../src/records.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

// What a next release may do before its code arrives: add a column to every table, and a table.
const expandSql = (schema: string) => `
do $$
declare name text;
begin
  for name in select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = '${schema}' and c.relkind = 'r' and c.relname <> 'migrations'
  loop
    execute format('alter table ${schema}.%I add column next_release text', name);
  end loop;
end $$;
create table ${schema}.next_release (id text primary key);
`;

describe('a deploy, one schema at a time', () => {
  let eligo: Constellation;
  let folder: string;
  let shop: Shop;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'eligo-next-release-'));
    eligo = await startConstellation({ topology: 'in-process' });
    shop = await openShop(eligo.api());
    // Every connection has prepared its statements before a table changes under it.
    await wholePath();
  }, 120_000);
  afterAll(async () => {
    await stopWithBooks(eligo);
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  const schemas = ['webhooks', 'catalog', 'refunds', 'billing', 'gateway', 'checkout'] as const;

  it.each(schemas)(
    'goes on by this release’s code after the next one has migrated %s, beside what is still behind',
    async (schema) => {
      const { migrations } = await loadCompositions();
      const next = join(folder, schema);
      await mkdir(next, { recursive: true });
      await writeFile(join(next, '0001_next_release.sql'), expandSql(schema));
      const sources = [...migrations[schema], migrationSource('next', next)];
      const { ownerUrl } = eligo.database;
      const { applied } = await migrate({ url: ownerUrl, schema, role: serviceRole(schema), sources });
      expect(applied).toEqual(['next/0001_next_release.sql']);
      await wholePath();
      // Its checks give up after a second or so, which a busy machine may take.
      await waitUntil(async () => (await fetch(new URL('/readyz', eligo.adminOf(schema)))).status === 200, {
        what: `${schema} to be ready`,
      });
    },
  );

  async function wholePath(): Promise<void> {
    const api = eligo.api();
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'hsa');
    const session = await newSession(api, shop, { customer });
    const id = text(session, 'checkout_session_id');
    expect((await confirm(api, id, card)).status).toBe(200);
    const refund = await api.post(`/v1/checkout/sessions/${id}/refund`, { checkout_session: { amount: 100 } });
    expect(refund.status, refund.text).toBe(200);
    await make(api, '/v1/prices', 'price', { product: shop.eligibleProductId, unit_amount: 100 });
    await make(api, '/v1/webhooks', 'webhook', { url: 'http://127.0.0.1:9/', events: ['refund.created'] });
    for (const path of [
      'prices',
      'products',
      'customers',
      'subscriptions',
      'invoices',
      'refunds',
      'webhooks',
      'events',
    ]) {
      const list: Json = await api.ok('GET', `/v1/${path}`);
      expect(list).toHaveProperty('has_more');
    }
    expect(record((await api.get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session').status).toBe('complete');
  }
});
