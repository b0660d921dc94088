import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { allRoutes } from '@eligo/contract';
import { freePort } from '@eligo/ports';
import { repositoryRoot } from '@eligo/stack';
import { type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { desktop, openCheckoutTab } from '../src/browser/checkout-tab.ts';
import { launchChromium } from '../src/browser/chromium.ts';
import { observedExpressions, unknownIn } from '../src/observed-metrics.ts';
import { type Json, record, text } from '../src/records.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop } from '../src/shop.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

let eligo: Constellation;

beforeAll(async () => {
  eligo = await startConstellation({ topology: 'in-process' });
});
afterAll(async () => {
  await stopWithBooks(eligo);
});

const page = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

/** The blocks of a language in a document. */
function blocksOf(path: string, language: string): string[] {
  return [...page(path).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, block = '']) => block,
  );
}

async function moduleOf(code: string): Promise<Record<string, unknown>> {
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Record<string, unknown>;
}

it('the tour of the README, pasted, prints what it says, and the samples of docs/integrating.md go on from it', async () => {
  const port = await freePort();
  const blocks = blocksOf('README.md', 'sh').map((block) => block.replaceAll('4300', String(port)));
  const last = blocks.findIndex((block) => block.includes('kill %1'));
  const shell = spawn('bash', ['-e', '-u', '-o', 'pipefail', '-s'], {
    cwd: repositoryRoot,
    env: { ...process.env, ELIGO_HOME: eligo.home.root },
    stdio: 'pipe',
    detached: true,
  });
  let out = '';
  let err = '';
  let ended = false;
  shell.stdout.on('data', (chunk) => (out += chunk));
  shell.stderr.on('data', (chunk) => (err += chunk));
  // The receiver of the tour holds the pipes, too, and what the shell wrote may be read after its exit.
  shell.once('exit', () => killGroup(shell.pid));
  shell.once('close', () => (ended = true));
  // A delivery can be printed behind what `curl` has printed, whose line ends a moment later.
  const received = () => [...out.matchAll(/genuine (\S+) fevt_/g)].map(([, type]) => type ?? '').sort();
  try {
    shell.stdin.write(`${blocks.slice(0, last).join('\n')}\n`);
    const promised = /`genuine` and:\n\n((?: {4}\S.*\n)+)/.exec(page('README.md'))?.[1]?.trim().split(/\s+/) ?? [];
    await waitUntil(() => ended || received().length >= promised.length, { withinMs: 90_000, what: 'the webhooks' });
    const toured = received();
    shell.stdin.end(`${[...blocksOf('docs/integrating.md', 'sh'), ...blocks.slice(last)].join('\n')}\n`);
    await waitUntil(() => ended, { withinMs: 90_000, what: 'the end of the samples' });
    expect({ code: shell.exitCode, err }).toEqual({ code: 0, err: '' });
    expect(toured).toEqual(promised.sort());
  } finally {
    killGroup(shell.pid);
  }
  // 49.99 + 3.99 shipping + 4.12 tax + 0.75 fee, as the text has it.
  for (const said of ['amount_iias: 5885', 'amount_shipping: 399', 'amount_tax: 412', 'amount_fee: 75']) {
    expect(out).toContain(said);
  }
  expect(out).toContain('"code":"idempotency_key_reused"');
  expect(out).toMatch(/status: 'succeeded',\s+capture_method/);
  expect(out).toContain("metadata: { ticket: '42' }");
  expect(out).toMatch(/^canceled$/m);
  expect(out).toMatch(/^Blood pressure monitor$/m);
  expect(out).toContain("rationale: 'Set on the product by the partner.'");
  // A subscription that renews three times, is declined, dunned, mended and canceled on a test clock.
  expect(out.replace(/(genuine|FORGED) \S+ fevt_\S+\n/g, '')).toMatch(
    /^ready\n4\nactive\nready\npast_due\nactive\nactive\nready\ncanceled\npaid$/m,
  );
  expect(out).toMatch(/^2030-01-31T00:00:00.000Z\n2030-02-28T00:00:00.000Z$/m);
  expect(out).toMatch(/deleted: true/);
  await payAsTheTourSays(/^http\S+\/pay\/\S+$/m.exec(out)?.[0] ?? expect.fail('the tour prints no redirect_url'));
}, 300_000);

/** Pays on the page of the tour with the test cards that it shows, until the browser is at `success_url`. */
async function payAsTheTourSays(url: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const tab = await openCheckoutTab(browser, url, desktop, (context) =>
      context.route('https://shop.example/**', (route) => route.fulfill({ body: 'Thank you' })),
    );
    for (const slot of ['health', 'other'] as const) {
      const shown = await tab
        .card(slot)
        .getByText(/\d{4} \d{4} \d{4} \d{4}/)
        .first()
        .textContent();
      await tab.type(slot, /\d{4} \d{4} \d{4} \d{4}/.exec(shown ?? '')?.[0] ?? expect.fail('no test card is shown'));
    }
    await tab.leaves();
    await tab.pay();
    await tab.page.waitForURL(/^https:\/\/shop\.example\/done\?session=fcs_/);
    await tab.close();
  } finally {
    await browser.close();
  }
}

it('the two shapes of refusals are answered as docs/integrating.md shows them', async () => {
  const [coded, listed] = blocksOf('docs/integrating.md', 'json').map((block) => JSON.parse(block) as Json);
  const unknown = await eligo.api().get('/v1/prices/fprice_01m7za6arj51wzkvf74maf7f5s');
  expect(unknown).toMatchObject({ status: 404, body: coded });
  const wrong = await eligo.api().post('/v1/prices', { price: { unit_amount: -1 } });
  expect(wrong.status).toBe(422);
  expect(wrong.body).toEqual(listed);
});

it('each test card is answered as the table of docs/integrating.md has it', async () => {
  const rows = [...page('docs/integrating.md').matchAll(/^\| ((?:`\w+`(?:, )?)+) \| (\d{3})(.*) \|$/gm)];
  const cards = rows.flatMap(([, names = '', status, rest = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ name, status: Number(status), rest })),
  );
  expect(cards.map(({ name }) => name).sort()).toEqual(
    'authentication_required credit debit declined dispute expired_card fsa hsa insufficient_funds refund_fails refund_pending'.split(
      ' ',
    ),
  );
  const api = eligo.api();
  const shop = await openShop(api);
  const customer = await newCustomer(api);
  for (const { name, status, rest } of cards) {
    const card = await newCard(api, customer, name);
    const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
    const answer = await confirm(api, session, card);
    const [, code, declineCode = code] = /`(\w+)`(?:, `(\w+)`)?/.exec(rest) ?? [];
    const isHealth = /hsa_fsa` of the payment method is true|hsa_fsa` is true/.test(rest);
    if (status === 200) {
      const method = record((await api.get(`/v1/payment_methods/${card}`)).body, 'payment_method');
      expect([name, answer.status, record(method, 'card').hsa_fsa]).toEqual([name, 200, isHealth]);
    } else {
      expect([name, answer.status, answer.body]).toEqual([
        name,
        status,
        expect.objectContaining({ code, decline_code: declineCode }),
      ]);
    }
  }
});

it('the table of retries of docs/integrating.md has every request whose key counts', () => {
  const rows = [...page('docs/integrating.md').matchAll(/^\| (`POST .*) \| .* \| .* \|$/gm)].map(([, requests = '']) =>
    [...requests.matchAll(/`POST ([^`]+)`/g)].map(([, path]) => path).sort(),
  );
  const of = (policy: string) => allRoutes.filter(({ idempotency }) => idempotency === policy).map(({ path }) => path);
  expect(rows).toEqual(['strict', 'session', 'replay'].map((policy) => of(policy).sort()));
});

it('the sender of docs/integrating.md repeats what may be repeated, with the same key, and nothing else', async () => {
  const [code = ''] = blocksOf('docs/integrating.md', 'js').filter((block) => block.includes('function send'));
  const { send, keyCounts } = (await moduleOf(code)) as {
    send: Send;
    keyCounts: (method: string, path: string) => boolean;
  };
  for (const { method, path, idempotency } of allRoutes) {
    const place = path.replaceAll(/\{\w+\}/g, 'fx_1');
    expect([method, path, keyCounts(method, `${place}?expand=x`)]).toEqual([method, path, idempotency !== 'ignored']);
  }
  const real = { url: eligo.url, key: eligo.testApiKey };
  const made = await send(real, 'POST', '/v1/customers', { customer: { first_name: 'Ada' } }, randomUUID());
  expect(made).toMatchObject({ status: 200, requestId: expect.any(String), body: { customer: { first_name: 'Ada' } } });

  const asked: unknown[] = [];
  const refuse = ['lost', 'half', 503, 429, 200];
  const server = createServer((request, response) => {
    asked.push(request.headers['idempotency-key']);
    const next = refuse.shift() ?? 200;
    if (next === 'lost') request.socket.destroy();
    else if (next === 'half')
      response.writeHead(200, { 'content-length': '100' }).write('{', () => request.socket.destroy());
    else response.writeHead(Number(next), { 'retry-after': '0' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const place = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'fsk_test_x' };
  expect(await send(place, 'POST', '/v1/checkout/sessions/x/confirm', {}, 'order-1')).toMatchObject({ status: 200 });
  expect(asked.splice(0)).toEqual(Array.from({ length: 5 }, () => 'order-1'));
  refuse.push(503);
  expect(await send(place, 'POST', '/v1/prices', {})).toMatchObject({ status: 503 });
  refuse.push('lost');
  await expect(send(place, 'POST', '/v1/prices', {}, 'order-1')).rejects.toThrow('no answer');
  refuse.push(404);
  expect(await send(place, 'GET', '/v1/prices/x')).toMatchObject({ status: 404 });
  expect(asked).toHaveLength(3);
  server.closeAllConnections();
  server.close();
});

type Send = (
  place: { url: string; key: string },
  method: string,
  path: string,
  body?: object,
  key?: string,
) => Promise<{ status: number; requestId: string; body: Json }>;

it('the loop over a list of docs/integrating.md meets every record once', async () => {
  const [code = ''] = blocksOf('docs/integrating.md', 'js').filter((block) => block.includes('function* everyPrice'));
  const { everyPrice } = (await moduleOf(code.replaceAll('limit=100', 'limit=2'))) as {
    everyPrice: (get: (path: string) => Promise<Json>) => AsyncGenerator<Json>;
  };
  const api = eligo.api();
  for (let made = 0; made < 5; made += 1) {
    await make(api, '/v1/prices', 'price', { unit_amount: 100, product_data: { name: `Thing ${made}` } });
  }
  const met: Json[] = [];
  for await (const price of everyPrice(async (path) => (await api.get(path)).body as Json)) met.push(price);
  const { prices } = (await api.get('/v1/prices?limit=100')).body as { prices: Json[] };
  expect(met.length).toBeGreaterThanOrEqual(5);
  expect(met).toEqual(prices);
});

it('the check of docs/webhooks.md takes what the reference library signs, and nothing else', async () => {
  const [code = ''] = blocksOf('docs/webhooks.md', 'js');
  const { isGenuine } = (await moduleOf(code)) as { isGenuine: (...of: unknown[]) => boolean };
  const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`;
  const signed = (fill: number, at: Date) => new Webhook(secretOf(fill)).sign('fevt_a', at, '{"a":1}');
  const headers = (signature: string, at = new Date()) => ({
    'webhook-id': 'fevt_a',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signature,
  });
  const now = new Date();
  expect(isGenuine(secretOf(1), headers(signed(1, now), now), '{"a":1}')).toBe(true);
  expect(isGenuine(secretOf(1), headers(`${signed(2, now)} ${signed(1, now)}`, now), '{"a":1}')).toBe(true);
  expect(isGenuine(secretOf(1), headers(signed(2, now), now), '{"a":1}')).toBe(false);
  expect(isGenuine(secretOf(1), headers(signed(1, now), now), '{"a":2}')).toBe(false);
  expect(isGenuine(secretOf(1), headers('v1,', now), '{"a":1}')).toBe(false);
  expect(isGenuine(secretOf(1), { 'webhook-timestamp': headers('')['webhook-timestamp'] }, '{"a":1}')).toBe(false);
  const old = new Date(now.getTime() - 301_000);
  expect(isGenuine(secretOf(1), headers(signed(1, old), old), '{"a":1}')).toBe(false);
});

/** Components have it with ELIGO_TLS_FOLDER alone. */
const ofTls = 'eligo_certificate_expires_seconds';

async function metricsPages(): Promise<string[]> {
  const admins = new Set(eligo.processes().flatMap(({ name, admin }) => (admin && name !== 'sandbox' ? [admin] : [])));
  return Promise.all([...admins].map(async (admin) => (await fetch(new URL('/metrics', admin))).text()));
}

it('the dashboards and alert rules use metrics that components have, with labels that they have [D14.215]', async () => {
  const pages = [...(await metricsPages()), `# TYPE ${ofTls} gauge`].join('\n');
  const expressions = observedExpressions(join(repositoryRoot, 'deploy', 'observe'));
  expect(expressions.length).toBeGreaterThan(70);
  expect(expressions.flatMap((expression) => unknownIn(expression, pages))).toEqual([]);
  expect(unknownIn('max by (service) (eligo_dead) > 0', pages)).toEqual(['eligo_dead']);
  expect(unknownIn('max by (processor) (eligo_nothing{a="b"}) > 0', pages)).toEqual(['eligo_nothing']);
  expect(unknownIn('min by (service) (eligo_ready{servce="gateway"}) == 0', pages)).toEqual(['eligo_ready{servce}']);
});

it('every counter is named _total and never falls, and no other metric is named so', async () => {
  const before = await metricsPages();
  const types = before.flatMap((text) => [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, ...of]) => of));
  const named = (isTotal: boolean) =>
    new Set(types.flatMap(([name = '', type]) => (name.endsWith('_total') === isTotal ? [type] : [])));
  expect([...named(true)]).toEqual(['counter']);
  expect([...named(false)].sort()).toEqual(['gauge', 'histogram']);
  const shop = await openShop(eligo.api());
  await newSession(eligo.api(), shop);
  const after = (await metricsPages()).map(totalsOf);
  const totals = before.map(totalsOf);
  const counted = totals.flatMap((page) =>
    [...page.keys()].filter((line) => line.startsWith('eligo_events_handled_total{')),
  );
  expect(counted.length).toBeGreaterThan(5);
  const fallen = totals.flatMap((page, at) =>
    [...page].filter(([line, count]) => !(Number(after[at]?.get(line)) >= count)),
  );
  expect(fallen).toEqual([]);
});

/** The numbers of a page's counters, by name and labels. */
function totalsOf(page: string): Map<string, number> {
  return new Map(
    [...page.matchAll(/^(\w+_total(?:\{.*\})?) (\S+)$/gm)].map(([, line = '', count]) => [line, Number(count)]),
  );
}

it('docs/operations.md names every metric of its own that a component has, and no other', async () => {
  const texts = await metricsPages();
  const made = new Set(texts.flatMap((text) => [...text.matchAll(/^# TYPE (eligo_\w+)/gm)].map(([, name]) => name)));
  // The volumes of the compose file begin with its name, too.
  const named = page('docs/operations.md').matchAll(/(?<!docker volume rm .*)\beligo_[a-z_]+(?:\|[a-z_]+)*/g);
  const told = new Set([...named].flatMap(([names]) => spelledOut(names)));
  expect([...told].filter((name) => !made.has(name) && name !== ofTls)).toEqual([]);
  // What Prometheus's own client counts of a process is known to whoever uses it.
  const own = [...made].filter((name) => !/^eligo_(?:nodejs|process)_/.test(name ?? ''));
  expect(own.filter((name) => !told.has(name ?? ''))).toEqual([]);
});

// `eligo_events_handled|failed` names two; a histogram's count is the histogram.
function spelledOut(names: string): string[] {
  const [first = '', ...others] = names.split('|');
  const stem = /^eligo_[a-z]+_/.exec(first)?.[0] ?? '';
  return [first, ...others.map((other) => `${stem}${other}`)].map((name) => name.replace(/_count$/, ''));
}

// The shell and what it left behind, such as a receiver that a failed sample did not end.
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
