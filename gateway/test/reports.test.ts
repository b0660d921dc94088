import type { RenderedSubstantiation } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { textOfPdf } from '@eligo/pdf/test-support';
import { openPageTokens } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { defaultTimeZone, dollars, timeInWords } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { invoicePdf } from '../src/reports/invoice-pdf.ts';
import { substantiationPdf } from '../src/reports/substantiation-pdf.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

let stack: TestGateway;
beforeAll(async () => {
  stack = await openTestGateway();
});
beforeEach(() => {
  stack.peers.seen.length = 0;
});
afterAll(() => stack?.stop());

const path = '/v1/reports/reconciliation';
const asked = () => {
  const request = stack.peers.seen[0]?.request;
  return [request?.from, request?.to];
};

describe('the reconciliation report', () => {
  test('is one JSON object with a list for each part of a day, also of a day without any [D14.163]', async () => {
    const { status, body, text } = await stack.api.get(`${path}?from=2026-01-01&to=2026-01-02`);
    expect(status, text).toBe(200);
    expect(body.reconciliation).toMatchObject({
      ...{ from: '2026-01-01', to: '2026-01-02', currency: 'usd', test_mode: true },
      days: [
        { date: '2026-01-01', accounts: [], movements: [], entries: [], payouts: [], suspense: [] },
        {
          ...{ date: '2026-01-02', opening_balance: 0, closing_balance: 97 },
          accounts: [{ account: 'processor_balance', opening: 0, change: 97, closing: 97 }],
          movements: [{ type: 'charge', count: 1, gross: 100, fee: 3, net: 97 }],
          entries: [{ type: 'capture', count: 1, gross: 100 }],
          payouts: [{ status: 'paid', payout: stack.peers.samples.payout.payoutId }],
          suspense: [{ amount_in_suspense: 97 }, { type: 'stripe_fee' }],
        },
      ],
    });
  });

  test('is a file of rows as CSV, in which no text is a formula [D14.163]', async () => {
    const reply = await stack.api.get(`${path}?from=2026-01-01&to=2026-01-02&format=csv`);
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(reply.headers.get('content-disposition')).toBe(
      'attachment; filename="reconciliation-2026-01-01-2026-01-02.csv"',
    );
    const [head, ...rows] = reply.text.trimEnd().split('\r\n');
    const count = head?.split(',').length;
    expect(rows.map((row) => row.split(',').slice(0, 2).join(' '))).toEqual([
      ...['2026-01-01 balance', '2026-01-02 balance', '2026-01-02 account', '2026-01-02 movements'],
      ...['2026-01-02 entries', '2026-01-02 payout', '2026-01-02 suspense', '2026-01-02 suspense'],
    ]);
    for (const row of rows) expect(row.split(',')).toHaveLength(count ?? 0);
    expect(reply.text).toContain(`,"'=1+""1",`);
  });

  test('is of the days that are given, of one if only one is, and of yesterday without any [D14.163]', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    for (const [query, days] of [
      ['?from=2026-01-01&to=2026-12-31', ['2026-01-01', '2026-12-31']],
      ['?from=2024-02-29', ['2024-02-29', '2024-02-29']],
      ['?to=2024-02-29', ['2024-02-29', '2024-02-29']],
      ['', [yesterday, yesterday]],
    ] as const) {
      stack.peers.seen.length = 0;
      expect((await stack.api.get(path + query)).status).toBe(200);
      expect(asked()).toEqual(days);
    }
  });

  test.each([
    ['?from=2026-02-30', ['query', 'from']],
    ['?from=yesterday', ['query', 'from']],
    ['?from=2026-01-02&to=2026-01-01', ['query', 'to']],
    ['?from=2026-01-01&to=2027-01-02', ['query', 'to']],
    ['?format=pdf', ['query', 'format']],
  ])('refuses %s and names the field [D14.163]', async (query, loc) => {
    const { status, body } = await stack.api.get(path + query);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc }]);
    expect(stack.peers.seen).toEqual([]);
  });
});

describe('the proof of eligibility', () => {
  const proofPath = () =>
    `/v1/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/substantiation`;

  test('is a PDF with each fact of the JSON if it is asked for [D14.128]', async () => {
    const { body } = await stack.api.get(proofPath());
    const reply = await fetch(`${stack.url}${proofPath()}?format=pdf`, {
      headers: { authorization: `Bearer ${stack.api.key}` },
    });
    expect(reply.headers.get('content-type')).toBe('application/pdf');
    const id = stack.peers.samples.checkout_session.checkoutSessionId;
    expect(reply.headers.get('content-disposition')).toContain(`attachment; filename="substantiation-${id}.pdf"`);
    const pdf = Buffer.from(await reply.arrayBuffer());
    expect(Number(reply.headers.get('content-length'))).toBe(pdf.length);
    // A line that is broken is still one text.
    const text = textOfPdf(pdf).replaceAll(/\s/g, '');
    const facts = [...factsOf(body.substantiation)];
    expect(facts.length).toBeGreaterThan(60);
    for (const fact of facts) expect(text).toContain(fact.replaceAll(/\s/g, ''));
    expect((await stack.api.get(`${proofPath()}?format=csv`)).body.detail).toMatchObject([
      { loc: ['query', 'format'] },
    ]);
  });

  test('is a PDF with times of the account’s time zone, by the name of its clock [D14.376]', async () => {
    const { substantiation: proof } = (await stack.api.get(proofPath())).body as {
      substantiation: RenderedSubstantiation;
    };
    const [payment] = proof.payments;
    if (payment === undefined) throw new Error('The sample has no payment');
    const paid = { ...proof, payments: [{ ...payment, created_at: '2027-01-01T00:30:00.000Z' }] };
    const text = textOfPdf(await substantiationPdf(paid, 'America/New_York')).replaceAll(/\s+/g, ' ');
    expect(text).toContain('Charged: December 31, 2026 at 7:30:00 PM EST');
  });

  test('is for a key that may read all that is in it, and names the scope that another one lacks [D14.128]', async () => {
    const scopes = ['checkout_sessions_read', 'letters_read', 'refunds_read', 'payment_methods_read'];
    const askWith = async (given: string[]) => (await stack.newApi({ scopes: given })).get(proofPath());
    expect((await askWith(scopes)).status).toBe(200);
    for (const scope of scopes) {
      expect(await askWith(scopes.filter((other) => other !== scope))).toMatchObject({
        status: 403,
        body: { code: 'insufficient_scope', detail: expect.stringContaining(`the scope ${scope}.`) },
      });
    }
  });

  test('leaves the process to other requests after each refund, also if all are of one line [D14.128]', async () => {
    const { substantiation: proof } = (await stack.api.get(proofPath())).body as {
      substantiation: RenderedSubstantiation;
    };
    const [line] = proof.line_items;
    const [refund] = line?.refunds ?? [];
    if (line === undefined || refund === undefined) throw new Error('The sample has no refund');
    const refunds = Array.from({ length: 200 }, () => refund);
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    await substantiationPdf({ ...proof, line_items: [{ ...line, refunds }] }, 'UTC');
    clearImmediate(next);
    expect(turns).toBeGreaterThan(200);
  });
});

describe('a PDF', () => {
  const proofPath = () =>
    `/v1/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/substantiation`;
  const pagePath = () => {
    const subject = { accountId: stack.accountId, testMode: true, id: stack.peers.samples.invoice.invoiceId };
    return `/invoice/${openPageTokens(testPageKey, 'invoice').tokenOf(subject)}`;
  };
  // A request with a large body takes the account's turn until its customer is made.
  const sendLarge = async () => {
    const headers = { authorization: `Bearer ${stack.api.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ customer: { email: 'shopper@example.com' } }) + ' '.repeat(9_000);
    return (await fetch(`${stack.url}/v1/customers`, { method: 'POST', headers, body })).status;
  };
  const statusOf = async (path: string) => (await stack.api.get(path)).status;

  test('is made in the account’s turn: eight requests wait, more are 429, and JSON and pages wait for none [D14.139]', async () => {
    const made = Promise.withResolvers<unknown>();
    let begun = 0;
    stack.peers.answer('createCustomer', () => {
      begun += 1;
      return made.promise;
    });
    try {
      const large = sendLarge();
      await waitUntil(() => begun === 1);
      const asked = Array.from({ length: 9 }, () => statusOf(`${proofPath()}?format=pdf`));
      expect(await Promise.race(asked)).toBe(429);
      expect(await statusOf(proofPath())).toBe(200);
      expect((await fetch(`${stack.url}${pagePath()}/document.pdf`)).status).toBe(200);
      made.resolve(stack.peers.samples.customer);
      expect(await large).toBe(200);
      expect((await Promise.all(asked)).sort()).toEqual([...Array(8).fill(200), 429]);
    } finally {
      made.resolve(stack.peers.samples.customer);
      stack.peers.restore();
    }
  });

  test('holds no turn while a service is slow to tell what it shows [D14.139]', async () => {
    const slow = Promise.withResolvers<void>();
    let reads = 0;
    for (const [method, code] of [
      ['getSubstantiation', 'checkout_session_not_found'],
      ['getInvoiceStatement', 'invoice_not_found'],
    ] as const) {
      stack.peers.answer(method, async () => {
        reads += 1;
        await slow.promise;
        throw new Failure(code);
      });
    }
    try {
      const document = `/v1/invoices/${stack.peers.samples.invoice.invoiceId}/document`;
      const asked = [statusOf(`${proofPath()}?format=pdf`), statusOf(document)];
      await waitUntil(() => reads === 2);
      expect(await sendLarge()).toBe(200);
      slow.resolve();
      expect(await Promise.all(asked)).toEqual([404, 404]);
    } finally {
      slow.resolve();
      stack.peers.restore();
    }
  });

  test('of an invoice is given to a customer four times, then once a second, and its page without that limit [D14.193]', async () => {
    const page = `${(await stack.another()).url}${pagePath()}`;
    const statusesOf = async (format: string) => {
      const asked = Array.from({ length: 6 }, async () => (await fetch(`${page}/document.${format}`)).status);
      return (await Promise.all(asked)).sort();
    };
    stopLimiterClock();
    expect(await statusesOf('pdf')).toEqual([200, 200, 200, 200, 429, 429]);
    expect(await statusesOf('html')).toEqual([200, 200, 200, 200, 200, 200]);
  });

  test('of an invoice leaves the process to other requests after each row [D14.193]', async () => {
    const rows = Array.from({ length: 100 }, () => ['a refund', 1] as const);
    const items = rows.map(([name, cents]) => ({ name, notes: [], cents }));
    const amounts = { amounts: [], payments: [], refunds: rows, hasMoreRefunds: false };
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    await invoicePdf({ title: 'x', testMode: true, createdAt: new Date(0), facts: [], items, ...amounts });
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(200);
  });
});

/** What the PDF shows of the JSON: amounts in dollars, and each other value as it is. */
function* factsOf(value: unknown, name = ''): Generator<string> {
  if (Array.isArray(value)) for (const one of value) yield* factsOf(one, name);
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) yield* factsOf(one, key);
  else if (typeof value === 'number') yield name === 'quantity' ? `${value} x` : dollars(value);
  else if (typeof value === 'string' && name.endsWith('_at')) yield timeInWords(new Date(value), defaultTimeZone);
  else if (typeof value === 'string' && !['price', 'line_item_id', 'leg'].includes(name)) yield value;
}
