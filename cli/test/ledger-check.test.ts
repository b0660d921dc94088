import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { billingService } from '@eligo/billing';
import { catalogService } from '@eligo/catalog';
import { checkoutService } from '@eligo/checkout';
import { openDatabase, unscoped } from '@eligo/postgres';
import { programFile } from '@eligo/processes/programs';
import { refundsService } from '@eligo/refunds';
import { repositoryRoot } from '@eligo/stack';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { webhooksService } from '@eligo/webhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../src/index.ts';
import { inSmallerRanges } from '../src/ledger/ranges.ts';
import { progressOf } from '../src/ledger/tell-progress.ts';

vi.setConfig({ hookTimeout: 120_000, testTimeout: 300_000 });

let test: TestDatabase;
beforeAll(async () => {
  test = await testDatabase(catalogService, checkoutService, billingService, refundsService, webhooksService);
  for (const name of [
    'STRIPE_SECRET_KEY',
    'STRIPE_ACCOUNTS',
    'ELIGO_LIVE_PROCESSOR',
    'ELIGO_SANDBOX_URL',
    'ELIGO_SANDBOX_KEY',
  ])
    vi.stubEnv(name, '');
  vi.stubEnv('DATABASE_URL', test.adminUrl);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await test?.drop();
});

const size = 150_000;
const sleep = unscoped('t.sleep', 'select pg_sleep($1)');

// A declined charge as the sandbox lists it, without its identifiers.
const shape = JSON.stringify({
  ...{
    account: 'acct_0edb46ff021284e7b55e69be',
    amount: 5_000,
    amount_captured: 0,
    amount_refunded: 0,
    status: 'failed',
  },
  ...{ captured: false, released: false, disputed: false, customer: null, created: 1_790_000_000 },
  ...{ payment_method: 'pm_0Vc2ehB5OOAAdjcgG1BT621p', failure_code: 'card_declined', decline_code: 'generic_decline' },
  card: { brand: 'visa', country: 'US', exp_month: 12, exp_year: 2034, funding: 'debit', last4: '0072', iin: '400005' },
}).slice(1);

function chargesBetween(from: number, to: number): string {
  const rows = Array.from({ length: to - from }, (_, at) => {
    const metadata = `"metadata":{"attempt":"fatt_${from + at}","payment_intent":"fpi_${from + at}","session":"fcs_${from + at}","leg":"health"}`;
    return `{"id":"ch_${from + at}","payment_intent":"pi_${from + at}",${metadata},${shape}`;
  });
  return rows.join(',');
}

/** Lists 150,000 charges as the sandbox does: in pages if it is asked for them, and all of them otherwise. */
async function startPeer(): Promise<{ server: Server; url: string; longest: () => number; listed: () => number }> {
  let [longest, listed] = [0, 0];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const count = pathname === '/sandbox/charges' ? size : 0;
    const from = Number(searchParams.get('starting_after')?.slice('ch_'.length) ?? -1) + 1;
    const to = Math.min(count, from + Number(searchParams.get('limit') ?? count));
    longest = Math.max(longest, to - from);
    listed += to - from;
    response.setHeader('content-type', 'application/json');
    response.write('{"data":[');
    for (let at = from; at < to; at += 1_000) {
      const rows = chargesBetween(at, Math.min(to, at + 1_000));
      if (!response.write(at === from ? rows : `,${rows}`)) await once(response, 'drain');
    }
    response.end(`],"has_more":${to < count}}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, url, longest: () => longest, listed: () => listed };
}

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function runWithHeap(megabytes: number, environment: Record<string, string>): Promise<Run> {
  const args = [`--max-old-space-size=${megabytes}`, programFile(repositoryRoot, 'cli'), 'ledger', 'check', '--json'];
  const env = { ...process.env, NODE_OPTIONS: '', ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, maxBuffer: 1e8 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
    });
  });
}

describe('ledger check', () => {
  it('compares a list of 150,000 charges in 64 MB of memory [D14.155]', async () => {
    const peer = await startPeer();
    try {
      const list = { ELIGO_SANDBOX_URL: peer.url, ELIGO_SANDBOX_KEY: 'sk_test_list' };
      const { code, out, err } = await runWithHeap(64, list);
      expect({ code, crashed: err.includes('heap out of memory') }).toEqual({ code: 0, crashed: false });
      expect(JSON.parse(out)).toEqual({ wrong: [], unsettled: [], not_compared: [], compared_with_processor: true });
      expect({ listed: peer.listed(), longest: peer.longest() }).toEqual({ listed: size, longest: 1_000 });
    } finally {
      peer.server.closeAllConnections();
      peer.server.close();
    }
  });

  async function eligo(...args: string[]) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runCommandLine(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
    return { code, out, err };
  }

  afterEach(async () => {
    await test.admin('delete from refunds.ledger_totals');
  });

  it('ends with 3 where an account at a processor could not be compared, and with 1 where anything is wrong besides [D14.157]', async () => {
    await test.admin(
      `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, next_read_at)
       values ('facct_live', false, 'stripe', 'acct_live', '2026-11-01', now(), now())`,
    );
    expect(await eligo('ledger', 'check')).toMatchObject({ code: 0 });
    const { code, out } = await eligo('ledger', 'check', '--processor');
    expect(code).toBe(3);
    expect(out).toContainEqual(
      expect.stringMatching(
        /^not_compared +processor_not_compared +acct_live +from 2026-11-01 on: stripe is not configured here$/,
      ),
    );
    expect(out.at(-1)).toBe('0 wrong, 0 unsettled, 1 not compared; not compared with a processor list');
    const json = await eligo('ledger', 'check', '--processor', '--json');
    expect(JSON.parse(json.out[0] ?? '')).toMatchObject({ wrong: [], not_compared: [{ id: 'acct_live' }] });
    expect(await eligo('ledger', 'reread', '--from', '2026-11-01')).toMatchObject({
      code: 3,
      out: ['not read: acct_live', '1 accounts at processors listed 0 movements; 0 were missing and are stored'],
    });
    await test.admin(
      `insert into refunds.ledger_totals (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account, amount_cents)
       select 'facct_live', false, grain, '2026-11-01', 'stripe', 'acct_live', 'fees', 1 from (values ('day'), ('month')) g (grain)`,
    );
    expect(await eligo('ledger', 'check', '--processor')).toMatchObject({ code: 1 });
  });

  it('reads in smaller ranges what takes a statement longer than its limit, and gives up at the smallest [D14.155]', async () => {
    const database = openDatabase({
      url: test.adminUrl,
      applicationName: 'ledger check',
      max: 1,
      statementTimeoutMs: 250,
    });
    const read = async (isSlow: (size: number) => boolean) => {
      const tried: number[] = [];
      const compared = inSmallerRanges(4_000, async (size) => {
        tried.push(size);
        await database.rows(sleep, null, [isSlow(size) ? 30 : 0]);
        return size;
      });
      return [await compared.catch((error: Error) => error.name), tried];
    };
    try {
      expect(await read((size) => size > 100)).toEqual([62, [4_000, 500, 62]]);
      expect(await read(() => true)).toEqual(['Failure', [4_000, 500, 62, 50]]);
    } finally {
      await database.close();
    }
  });

  it('tells of its progress after ten seconds, and every ten seconds then', () => {
    let now = 0;
    const told: string[] = [];
    const progress = progressOf(
      (text) => told.push(text),
      () => now,
    );
    for (now = 0; now <= 32_000; now += 1_000) progress('checkout.sessions', 1_000);
    expect(told).toEqual([
      '10 s, 11,000 rows; now checkout.sessions',
      '20 s, 21,000 rows; now checkout.sessions',
      '30 s, 31,000 rows; now checkout.sessions',
    ]);
  });
});
