import { allRoutes } from '@eligo/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fuzzRequests } from '../test-support/fuzz-requests.ts';
import { type ProbeTarget, probeFuzz } from '../test-support/index.ts';
import { idsOf } from './fake-peers.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';
import { uploadSmallFile } from './upload-file.ts';

let stack: TestGateway;
let target: ProbeTarget;

beforeAll(async () => {
  stack = await openTestGateway();
  const own = { ...idsOf(stack.peers.samples), file: await uploadSmallFile(stack) };
  const key = stack.api.key;
  target = {
    url: stack.url,
    testKey: key,
    liveKey: key,
    scopelessKey: key,
    foreignKey: key,
    own,
    references: { ...own, recurring_price: own.price },
  };
});

afterAll(() => stack?.stop());

const uuids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const written = (seed: number) =>
  fuzzRequests(target, { requests: 500, seed }).map(({ route, path, body }) => {
    return `${route.id} ${path} ${String(body).replace(uuids, '')}`;
  });

test('a fuzz sends the same requests again for the same seed, others for another, and some to every route', () => {
  const first = written(7);
  expect(written(7)).toEqual(first);
  const others = new Set(written(8));
  expect(first.filter((line) => others.has(line)).length).toBeLessThan(250);
  const routes = new Set(first.map((line) => line.split(' ')[0]));
  expect([...routes].sort()).toEqual(allRoutes.map(({ id }) => id).sort());
});

test('a fuzz tells of a 5xx, with the request that had it', async () => {
  stack.peers.answer('getPrice', () => {
    throw new Error('a bug');
  });
  const { problems } = await probeFuzz(target, { requests: 1_000, seed: 3 });
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems) expect(problem).toMatch(/^\w+ \/v1\/prices.*: 500 /s);
});
