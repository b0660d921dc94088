import { openPageTokens, type PageKind } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount, createKey } from '../src/index.ts';
import {
  type ProbeTarget,
  probeAnswers,
  probeAuthentication,
  probeBadInput,
  probeForeignRecords,
  probeFuzz,
  probeScopes,
} from '../test-support/index.ts';
import { idsOf } from './fake-peers.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';
import { uploadSmallFile } from './upload-file.ts';

let stack: TestGateway;
let target: ProbeTarget;
const pageKinds: readonly PageKind[] = ['checkout_session', 'payment_link', 'invoice'];
/** The token of a page of one kind; of the record that the peers know unless another is given. */
const pageToken = (kind: PageKind, parts: { testMode?: boolean; accountId?: string; id?: string } = {}) =>
  openPageTokens(testPageKey, kind).tokenOf({
    ...{ accountId: stack.accountId, testMode: true, id: target.own[kind] ?? '' },
    ...parts,
  });

beforeAll(async () => {
  // The probes fail to authenticate faster than anybody should.
  stack = await openTestGateway({ ELIGO_RATE_LIMIT_FAILED_AUTH: '100000' });
  const file = await uploadSmallFile(stack);
  const own = { ...idsOf(stack.peers.samples), file };
  const stranger = await createAccount(stack.database, { name: 'A stranger' });
  const strange = { accountId: stranger.account_id, testMode: true, rateLimit: 0 };
  target = {
    url: stack.url,
    testKey: stack.api.key,
    liveKey: (await stack.newApi({ testMode: false })).key,
    scopelessKey: (await stack.newApi({ scopes: ['charges_write'] })).key,
    foreignKey: (await createKey(stack.database, strange)).api_key,
    own,
    references: { ...own, recurring_price: own.price },
  };
});

afterAll(() => stack?.stop());

test('every route refuses a missing, malformed and unknown key, and the tokens of pages, by one 401 [AUTH-1, API-3, API-4, AUTH-5, D2.1, D14.80]', async () => {
  const noKeys = pageKinds.flatMap((kind) => [pageToken(kind), pageToken(kind, { testMode: false })]);
  stack.peers.seen.length = 0;
  expect((await probeAuthentication({ ...target, noKeys })).problems).toEqual([]);
  expect(stack.peers.seen).toEqual([]);
});

test('every route refuses a key without its scope, and test helpers a live key, by 403 [API-4, AUTH-5]', async () => {
  expect((await probeScopes(target)).problems).toEqual([]);
});

test('every route answers the owner of a record and refuses everybody else by byte-equal 404s [GEN-1, AUTH-2, GEN-2, API-4, D14.23]', async () => {
  expect((await probeForeignRecords(target)).problems).toEqual([]);
});

test('every answer parses with its schema, strictly, with and without expansion [API-2, RATE-5, PRICE-6, RATE-6, COMP-10, GEN-10]', async () => {
  expect((await probeAnswers(target, () => true)).problems).toEqual([]);
});

test('no bad input of the corpus gives a 5xx on any route, and every refusal has the shape of the contract [API-4, GEN-13]', async () => {
  const { problems, requests } = await probeBadInput(target);
  expect(problems).toEqual([]);
  expect(requests).toBeGreaterThan(2_000);
}, 120_000);

test('random requests made from the schemas give no 5xx on any route', async () => {
  const { problems } = await probeFuzz(target, { requests: 1_000, seed: Number(process.env.ELIGO_FUZZ_SEED ?? 42) });
  expect(problems).toEqual([]);
}, 120_000);

test('nothing was logged as unexpected', () => {
  expect(stack.log.filter((line) => line.includes('unexpected'))).toEqual([]);
});

// With a body that each takes.
const pageCalls: Readonly<Record<PageKind, readonly (readonly [path: string, body?: object])[]>> = {
  checkout_session: [
    ['/pay/TOKEN/session'],
    ['/pay/TOKEN/pay', { cards: [{ payment_method: 'pm_0123456789', slot: 'other' }] }],
    ['/pay/TOKEN/authenticate', {}],
    ['/pay/TOKEN/letter', { condition: 'a', reason: 'b', consent: true }],
    ['/pay/TOKEN/promo-code', { code: null }],
    ['/pay/TOKEN/cancel', {}],
  ],
  payment_link: [['/buy/TOKEN']],
  invoice: [
    ['/invoice/TOKEN/session'],
    ['/invoice/TOKEN/pay', { cards: [{ payment_method: 'pm_0123456789', slot: 'other' }] }],
    ['/invoice/TOKEN/authenticate', {}],
    ['/invoice/TOKEN/document.html'],
    ['/invoice/TOKEN/document.pdf'],
  ],
};

async function openPage([path, body]: readonly [string, object?], token: string): Promise<number> {
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const url = `${stack.url}${path.replace('TOKEN', token)}`;
  return (await fetch(url, { redirect: 'manual', ...(body === undefined ? {} : json) })).status;
}

test.each(pageKinds)(
  'the token of a %s opens that record in its account and mode, and nothing else [D14.80]',
  async (kind) => {
    const id = target.own[kind];
    for (const of of pageKinds) {
      for (const call of pageCalls[of]) {
        stack.peers.seen.length = 0;
        const status = await openPage(call, pageToken(kind));
        const asked = stack.peers.seen.map(({ request, call: { scope } }) => [
          request.id ?? request.checkoutSessionId ?? request.paymentLinkId ?? request.invoiceId,
          scope,
        ]);
        const own = [id, { accountId: stack.accountId, testMode: true }];
        if (of === kind) expect([call, asked[0]]).toEqual([call, own]);
        else expect([call, status, asked]).toEqual([call, 404, []]);
        expect(asked.filter(([, scope]) => JSON.stringify(scope) !== JSON.stringify(own[1]))).toEqual([]);
        // The documents of an invoice name its session.
        const others = asked.filter(([named]) => named !== undefined && named !== id);
        if (kind !== 'invoice') expect([call, others]).toEqual([call, []]);
      }
    }
    // A token says which record it opens; put together from two, it opens none.
    const [token, ...others] = [
      pageToken(kind),
      pageToken(kind, { id: newId(kind) }),
      pageToken(kind, { testMode: false }),
      pageToken(kind, { accountId: newId('account') }),
    ];
    stack.peers.seen.length = 0;
    for (const other of others) {
      for (const call of pageCalls[kind]) {
        expect([call, await openPage(call, other.slice(0, 53) + (token ?? '').slice(53))]).toEqual([call, 404]);
      }
    }
    expect(stack.peers.seen).toEqual([]);
  },
);
