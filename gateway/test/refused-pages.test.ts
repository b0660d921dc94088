import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { finished } from 'node:stream/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';
import { openPageTokens } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

let stack: TestGateway;
let url: string;
beforeAll(async () => {
  stack = await openTestGateway();
});
// A gateway of its own for each test: the limits count for all that an address asks for.
beforeEach(async () => {
  ({ url } = await stack.another());
});
afterEach(() => stack.peers.restore());
afterAll(() => stack?.stop());

const pathOf = (kind: 'checkout_session' | 'invoice' | 'payment_link', id: string) => {
  const path = { checkout_session: '/pay', invoice: '/invoice', payment_link: '/buy' }[kind];
  const tokens = openPageTokens(testPageKey, kind);
  return `${path}/${tokens.tokenOf({ accountId: stack.accountId, testMode: true, id })}`;
};
const linkPath = () => pathOf('payment_link', newId('payment_link'));

/** The refusal that a document has for its script. */
async function refusalOf(reply: Response): Promise<unknown> {
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(reply.headers.get('cache-control')).toBe('no-store');
  expect(reply.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; /);
  const html = await reply.text();
  expect(html).not.toContain('id="view"');
  const [, json = 'null'] = /<script type="application\/json" id="refusal">(.*?)<\/script>/s.exec(html) ?? [];
  return JSON.parse(json);
}

describe('a page that is refused', () => {
  test('is a document that says why, for links, sessions and invoices that are not there [D14.85]', async () => {
    stack.peers.answer('visitPaymentLink', () => {
      throw new Failure('payment_link_inactive');
    });
    for (const [path, status, code] of [
      [linkPath(), 410, 'payment_link_inactive'],
      ['/buy/x', 404, 'payment_link_not_found'],
      ['/pay/x', 404, 'checkout_session_not_found'],
      ['/invoice/x', 404, 'invoice_not_found'],
      ['/invoice/x/document.html', 404, 'invoice_not_found'],
      ['/invoice/x/document.pdf', 404, 'invoice_not_found'],
    ] as const) {
      const reply = await fetch(`${url}${path}`);
      expect([path, reply.status, reply.headers.get('link')]).toEqual([path, status, null]);
      expect(await refusalOf(reply)).toBe(code);
    }
    // A log line says so, too.
    expect(stack.log.some((line) => line.includes('"code":"payment_link_inactive"'))).toBe(true);
  });

  test.each(['/buy/x', '/invoice/x/document.pdf'])('has its script and style beside it: %s [D14.85]', async (path) => {
    const page = new URL(path, url);
    const [script = ''] = /[^"]*assets\/[^"]+\.js/.exec(await (await fetch(page)).text()) ?? [];
    const asset = await fetch(new URL(script, page));
    expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  });

  test('says that a service is away, or that too much was asked, and when to come back [D14.85]', async () => {
    stack.peers.answer('visitPaymentLink', () => {
      throw new ConnectError('away', Code.Unavailable);
    });
    const away = await fetch(`${url}${linkPath()}`);
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refusalOf(away)).toBe('service_unavailable');
    stopLimiterClock();
    const asked = await Promise.all(Array.from({ length: 160 }, () => fetch(`${url}/pay/x`)));
    const refused = asked.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refusalOf(refused[0] as Response)).toBe('rate_limited');
  });

  test('at a limit is no document where a body is still to come, which is not read off [D14.85]', async () => {
    stopLimiterClock();
    await Promise.all(Array.from({ length: 160 }, () => fetch(`${url}/pay/x`)));
    const sent = request(`${url}/pay/x`, { method: 'GET', agent: false, headers: { 'transfer-encoding': 'chunked' } });
    sent.on('error', () => undefined);
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.write('x'.repeat(1_000));
    const [reply] = await answered;
    expect([reply.statusCode, reply.headers.connection]).toEqual([429, 'close']);
    await finished(reply.resume());
    sent.destroy();
  });

  test('is the page all the same where only its look at the session failed [D14.228]', async () => {
    stack.peers.answer('getPage', () => {
      throw new ConnectError('away', Code.Unavailable);
    });
    const id = stack.peers.samples.checkout_session.checkoutSessionId;
    const reply = await fetch(`${url}${pathOf('checkout_session', id)}`);
    expect(reply.status).toBe(200);
    expect(await refusalOf(reply)).toBeNull();
  });
});

describe('the payment page of an invoice whose products have no names', () => {
  test.each([
    ['refuses', () => new Failure('internal')],
    ['is away', () => new ConnectError('away', Code.Unavailable)],
  ])('shows and takes payments while catalog %s [D14.230]', async (_how, error) => {
    const page = {
      ...{ invoice: stack.peers.samples.invoice, dueCents: 1_500n, healthCardCents: 0n, payable: true },
      ...{ lines: [{ productId: newId('product'), quantity: 1n, subtotalCents: 1_500n, eligibleCents: 0n }] },
      ...{ processor: 'sandbox', processorAccount: 'acct_0123456789abcdef' },
    };
    for (const method of ['getInvoicePage', 'payInvoiceOnPage']) stack.peers.answer(method, () => page);
    stack.peers.answer('batchGetProducts', () => {
      throw error();
    });
    const path = pathOf('invoice', stack.peers.samples.invoice.invoiceId);
    const shown = await fetch(`${url}${path}/session`);
    expect(shown.status).toBe(200);
    expect(await shown.json()).toMatchObject({ lines: [{ description: null, amount_subtotal: 1_500 }] });
    const paid = await fetch(`${url}${path}/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ cards: [{ payment_method: 'pm_other0123456789', slot: 'other' }] }),
    });
    expect(paid.status).toBe(200);
  });
});
