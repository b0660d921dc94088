import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RateLimiter } from '../src/http/rate-limiter.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

afterAll(() => stack?.stop());

const path = () => `/v1/prices/${stack.peers.samples.price.priceId}`;

describe('the limiter', () => {
  test.each([1, 25, 100, 333])('lets %i a second through over a minute, and four seconds of it at once', (rate) => {
    const limiter = new RateLimiter();
    const burst = Array.from({ length: rate * 5 }, () => limiter.take('k', rate, 1_000)).filter(
      ({ allowed }) => allowed,
    );
    expect(burst).toHaveLength(rate * 4);
    let passed = 0;
    for (let ms = 1_001; ms <= 61_000; ms += 1) if (limiter.take('k', rate, ms).allowed) passed += 1;
    expect(Math.abs(passed - rate * 60)).toBeLessThanOrEqual(rate * 60 * 0.05);
  });

  test('says when a refused request may come again, and is right', () => {
    const limiter = new RateLimiter();
    for (let i = 0; i < 8; i += 1) expect(limiter.take('k', 2, 0).remaining).toBe(7 - i);
    const refused = limiter.take('k', 2, 0);
    expect(refused).toMatchObject({ allowed: false, limit: 2, remaining: 0, retryAfterSeconds: 1, resetSeconds: 4 });
    expect(limiter.take('k', 2, refused.retryAfterSeconds * 1_000).allowed).toBe(true);
  });

  test('keeps keys apart, and forgets those that have caught up', () => {
    const limiter = new RateLimiter();
    for (let i = 0; i < 25_000; i += 1) expect(limiter.take(`k${i}`, 1, i).allowed).toBe(true);
    for (let i = 0; i < 3; i += 1) limiter.take('greedy', 1, 30_000);
    expect(limiter.take('other', 1, 30_000).remaining).toBe(3);
  });
});

describe('rate limits', () => {
  test('let a burst of four seconds through and then the rate; the headers say how much is left', async () => {
    const api = await stack.newApi({ rateLimit: 5 });
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 60 }, () => api.get(path())));
    const seconds = (performance.now() - startedAt) / 1_000;
    const statuses = answers.map(({ status }) => status);
    const passed = statuses.filter((status) => status === 200).length;
    expect(passed).toBeGreaterThanOrEqual(20);
    expect(passed).toBeLessThanOrEqual(20 + Math.ceil(5 * seconds));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ code: 'rate_limited' });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(refused?.headers.get('ratelimit-limit')).toBe('5');
    expect(refused?.headers.get('ratelimit-remaining')).toBe('0');
    expect(answers[0]?.headers.get('ratelimit-remaining')).toMatch(/^\d+$/);
  });

  test('of one key leave another alone, and a key without a limit has no headers', async () => {
    const answer = await stack.api.get(path());
    expect(answer.status).toBe(200);
    expect(answer.headers.get('ratelimit-limit')).toBeNull();
  });

  test('go before scope, path and body', async () => {
    const api = await stack.newApi({ rateLimit: 1, scopes: ['files_read'] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.post('/v1/prices', 'not json')));
    expect(answers.map(({ status }) => status)).toContain(429);
    expect(answers.map(({ status }) => status)).toContain(403);
  });

  test('bound failed authentications by address, and leave good keys alone', async () => {
    const gateway = await stack.another({ ELIGO_RATE_LIMIT_FAILED_AUTH: '2' });
    const ask = async (key: string) =>
      (await fetch(gateway.url + path(), { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await ask(stack.api.key)).toBe(200);
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1) statuses.push(await ask('nonsense'));
    expect(statuses.slice(0, 8)).toEqual(Array(8).fill(401));
    expect(statuses.at(-1)).toBe(429);
    expect(await ask(stack.api.key)).toBe(200);
  });
});
