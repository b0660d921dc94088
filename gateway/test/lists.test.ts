import { setImmediate } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { allRoutes } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { CheckoutSessionSchema } from '@eligo/proto/checkout/v1/checkout';
import { type IdKind, idPrefixes, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pathOf } from '../test-support/send.ts';
import { idsOf } from './fake-peers.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

beforeEach(() => {
  stack.peers.seen.length = 0;
});

afterEach(() => stack.peers.restore());

afterAll(() => stack?.stop());

const methods = () => stack.peers.seen.map(({ method }) => method);

describe('a page', () => {
  // Other queries ask for a form of the answer, and know no cursor that they could refuse.
  const lists = allRoutes.filter(({ query }) => query?.safeParse({ starting_after: 'no id' }).success === false);
  const kinds = Object.keys(idPrefixes) as IdKind[];

  test.each(lists.map((route) => [route.id, route] as const))(
    'of %s is asked of its owner as it was asked for, and its cursor is of one kind [SUB-4]',
    async (_id, route) => {
      const taken = kinds.filter((kind) => route.query?.safeParse({ starting_after: newId(kind) }).success);
      expect(taken).toHaveLength(1);
      const cursor = newId(taken[0] ?? 'price');
      const url = pathOf(route, (route.seed && idsOf(stack.peers.samples)[route.seed as 'price']) || '');
      for (const [name, field] of [
        ['starting_after', 'startingAfter'],
        ['ending_before', 'endingBefore'],
      ] as const) {
        stack.peers.seen.length = 0;
        const answer = await stack.api.get(`${url}?limit=3&offset=7&${name}=${cursor}`);
        expect(answer.status, answer.text).toBe(200);
        expect(stack.peers.seen[0]?.request.page).toMatchObject({ limit: 3n, offset: 7, [field]: cursor });
      }
    },
  );

  test('says whether there are more, as its owner does [INV-4, D3.6]', async () => {
    const { price, invoice, subscription } = stack.peers.samples;
    for (const hasMore of [true, false]) {
      stack.peers.answer('listPrices', () => ({ prices: [price], hasMore }));
      expect((await stack.api.get('/v1/prices')).body.has_more).toBe(hasMore);
      stack.peers.answer('listInvoices', () => ({ invoices: [invoice], hasMore }));
      const ofConsumer = `/v1/consumer/subscriptions/${subscription.subscriptionId}/invoices`;
      expect((await stack.api.get(ofConsumer)).body.has_more).toBe(hasMore);
    }
  });
});

test('the list of subscriptions is of the status and of the customer that the query names [SUB-4]', async () => {
  const { subscription, customer } = stack.peers.samples;
  const all = [
    { ...subscription, status: 'active', customerId: customer.customerId },
    { ...subscription, status: 'past_due', customerId: customer.customerId },
    { ...subscription, status: 'past_due', customerId: newId('customer') },
  ].map((one) => ({ ...one, subscriptionId: newId('subscription') }));
  // As billing's list does.
  stack.peers.answer('listSubscriptions', ({ status, customerId }) => ({
    subscriptions: all.filter(
      (one) => (status ?? one.status) === one.status && (customerId ?? one.customerId) === one.customerId,
    ),
    hasMore: false,
  }));
  const listed = async (query: string) => {
    const { subscriptions } = await stack.api.ok('GET', `/v1/subscriptions${query}`);
    return (subscriptions as { subscription_id: string }[]).map(({ subscription_id: id }) =>
      all.findIndex(({ subscriptionId }) => subscriptionId === id),
    );
  };
  expect(await listed('')).toEqual([0, 1, 2]);
  expect(await listed('?status=past_due')).toEqual([1, 2]);
  expect(await listed(`?customer=${customer.customerId}`)).toEqual([0, 1]);
  expect(await listed(`?status=past_due&customer=${customer.customerId}`)).toEqual([1]);
  expect((await stack.api.get('/v1/subscriptions?status=none')).status).toBe(422);
});

describe('the invoices that a consumer asks for by their ids', () => {
  const path = () => `/v1/consumer/subscriptions/${stack.peers.samples.subscription.subscriptionId}/invoices`;
  const limitOf = async (query: string) => {
    stack.peers.seen.length = 0;
    const answer = await stack.api.get(`${path()}?${query}`);
    expect(answer.status, answer.text).toBe(200);
    const { limit } = (stack.peers.seen[0]?.request.page ?? {}) as { limit?: bigint };
    return limit;
  };
  const ids = (count: number, name = 'invoice_ids[]') =>
    Array.from({ length: count }, () => `${name}=${newId('invoice')}`).join('&');

  test('come in one page, unless the request has a limit [INV-4, D14.300]', async () => {
    expect(await limitOf(ids(25))).toBe(25n);
    expect(await limitOf(ids(25, 'invoice_ids'))).toBe(25n);
    expect(await limitOf(ids(100))).toBe(100n);
    expect(await limitOf(ids(1))).toBe(1n);
    expect(await limitOf(`${ids(25)}&limit=10`)).toBe(10n);
    expect(await limitOf('')).toBe(10n);
  });

  test('are a hundred at most', async () => {
    const answer = await stack.api.get(`${path()}?${ids(101)}`);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('"loc":["query","invoice_ids"]');
    expect(answer.text).not.toContain('"limit"');
  });
});

describe('a list of sessions', () => {
  const sessions = (count: number) =>
    Array.from({ length: count }, () =>
      create(CheckoutSessionSchema, {
        ...stack.peers.samples.checkout_session,
        checkoutSessionId: newId('checkout_session'),
      }),
    ).reverse();

  function serve(all: ReturnType<typeof sessions>) {
    stack.peers.answer('listSessions', (request) => {
      const { limit, startingAfter } = request.page as { limit: bigint; startingAfter?: string };
      const from =
        startingAfter === undefined ? 0 : all.findIndex((one) => one.checkoutSessionId === startingAfter) + 1;
      const page = all.slice(from, from + Number(limit));
      return [
        ...page.map((value) => ({ item: { case: 'session', value } })),
        { item: { case: 'end', value: { hasMore: from + page.length < all.length } } },
      ];
    });
  }

  test.each([0, 1, 99, 100, 101, 250, 2_345])('of %i is whole, in order, and read in slices [D3.3]', async (count) => {
    const all = sessions(count);
    serve(all);
    const answer = await stack.api.get('/v1/checkout/sessions?limit=9007199254740991');
    const rows = answer.body.checkout_sessions as { checkout_session_id: string }[];
    expect(rows.map((row) => row.checkout_session_id)).toEqual(all.map((one) => one.checkoutSessionId));
    expect(answer.body.has_more).toBe(false);
    expect(methods().filter((method) => method === 'listSessions')).toHaveLength(Math.max(1, Math.ceil(count / 1_000)));
  });

  test('skips its offset once, however many slices it is read in', async () => {
    serve(sessions(2_345));
    await stack.api.get('/v1/checkout/sessions?limit=2345&offset=7');
    const pages = stack.peers.seen.map(({ request }) => (request.page as { offset: number }).offset);
    expect(pages).toEqual([7, 0, 0]);
  });

  test('is made of no more than its first rows for a client that asks for its headers alone', async () => {
    serve(sessions(2_345));
    const reply = await fetch(`${stack.url}/v1/checkout/sessions?limit=2345`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${stack.api.key}` },
    });
    expect(reply.status).toBe(200);
    expect(methods()).toEqual(['listSessions']);
  });

  test('says that there are more, and expands in one call per hundred rows', async () => {
    serve(sessions(300));
    const { body } = await stack.api.get('/v1/checkout/sessions?limit=250&expand=customer');
    expect(body.has_more).toBe(true);
    expect(body.checkout_sessions).toHaveLength(250);
    expect(methods()).toEqual(['listSessions', 'batchGetCustomers', 'batchGetCustomers', 'batchGetCustomers']);
  });

  test('loads at most 200 captures by one call, one call after the other, however many its sessions have [D3.7, D14.65]', async () => {
    const all = sessions(30).map((session) => ({
      ...session,
      captureIds: Array.from({ length: 50 }, () => newId('capture')),
    }));
    serve(all);
    const sizes: number[] = [];
    let underWay = 0;
    stack.peers.answer('batchGetCaptures', async ({ ids }) => {
      sizes.push((ids as string[]).length);
      expect(++underWay).toBe(1);
      await setImmediate();
      underWay -= 1;
      return { captures: (ids as string[]).map((captureId) => ({ ...stack.peers.samples.capture, captureId })) };
    });
    const { body } = await stack.api.get('/v1/checkout/sessions?limit=30&expand=captures');
    const rows = body.checkout_sessions as { captures: { capture_id: string }[] }[];
    expect(rows.map(({ captures }) => captures.map((one) => one.capture_id))).toEqual(all.map((one) => one.captureIds));
    expect(Math.max(...sizes)).toBe(200);
    expect(sizes).toHaveLength(8);
    stack.peers.seen.length = 0;
    await stack.api.get('/v1/checkout/sessions?limit=30&expand=customer');
    expect(methods()).toEqual(['listSessions', 'batchGetCustomers']);
  });

  test('that is refused before its first row is refused as anything else', async () => {
    stack.peers.answer('listSessions', () => {
      throw Failure.invalid(['query', 'starting_after'], 'checkout_session_not_found', 'No such session');
    });
    const answer = await stack.api.get(`/v1/checkout/sessions?starting_after=${newId('checkout_session')}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ['query', 'starting_after'] }]);
  });

  test('that breaks off in the middle breaks the connection, so that no client takes it for complete', async () => {
    const some = sessions(500);
    stack.peers.answer('listSessions', () =>
      (function* () {
        for (const value of some) yield { item: { case: 'session', value } };
        throw new Error('broke off');
      })(),
    );
    await expect(stack.api.get('/v1/checkout/sessions?limit=1000')).rejects.toThrow();
  });

  test('passes its filters on', async () => {
    const customer = stack.peers.samples.customer.customerId;
    await stack.api.get(
      `/v1/checkout/sessions?interval=7&status=open&customer=${customer}&disputed=true&mode=payment` +
        '&created_gte=2026-01-01T00:00:00Z&created[lt]=1767323045',
    );
    expect(stack.peers.seen.at(-1)?.request).toMatchObject({
      intervalDays: 7,
      status: 'open',
      customerId: customer,
      disputed: true,
      mode: 'payment',
      createdGteMs: 1_767_225_600_000n,
      createdLtMs: 1_767_323_045_000n,
    });
  });
});
