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
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';
import { uploadSmallFile } from './upload-file.ts';

let stack: TestGateway;
let target: ProbeTarget;

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

test('every route refuses a missing, malformed and unknown key by one 401 [AUTH-1, API-3, API-4, AUTH-5, D2.1]', async () => {
  expect((await probeAuthentication(target)).problems).toEqual([]);
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
