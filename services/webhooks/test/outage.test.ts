import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { retryEvent } from '../src/actions/retry-event.ts';
import { updateEndpoint } from '../src/actions/update-endpoint.ts';
import { type Fixture, openFixture, type Receiver, receiver, refundEvent, someScope } from './fixture.ts';

// In its long form (`npm run outages`) each case has the size that its promise names.
const isLong = process.env.ELIGO_TEST_LONG === 'on';
const sizes = isLong
  ? { duringThreeDays: 10_000, duringTenDays: 1_000, healthyEndpoints: 48, fanOutEvents: 400 }
  : { duringThreeDays: 150, duringTenDays: 20, healthyEndpoints: 8, fanOutEvents: 60 };
const patience = isLong ? 900_000 : 60_000;

let on: Fixture;
let shop: Receiver;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  shop = await receiver();
});
afterEach(async () => {
  on.clock.reset();
  await shop.close();
});

const hours = (count: number) => count * 3_600_000;
const idsOf = (at: Receiver) => at.received.map(({ headers }) => String(headers['webhook-id']));
const answers = (status: number) => shop.answerWith((_request, response) => void response.writeHead(status).end());

async function consumeSome(scope: ReturnType<typeof someScope>, count: number): Promise<string[]> {
  const events = Array.from({ length: count }, () => refundEvent(scope));
  for (let at = 0; at < count; at += 8) await Promise.all(events.slice(at, at + 8).map((event) => on.consume(event)));
  return events.map(({ eventId }) => eventId);
}

// Sweeps until nothing more is sent at this time.
async function sendAllThatIsDue(): Promise<void> {
  let before = -1;
  while (shop.received.length > before) {
    before = shop.received.length;
    await on.worker.sweep();
    await on.worker.idle();
  }
}

function statusesOf(accountId: string) {
  return on.admin(`select status, count(*)::int from webhooks.deliveries where account_id = $1 group by 1 order by 1`, [
    accountId,
  ]);
}

describe('a receiver that is down', () => {
  it(
    'for three days gets every event when it is back, within one step of the schedule, and none was given up',
    async () => {
      const scope = someScope();
      await on.endpoint(scope, shop.url);
      answers(503);
      const sent = new Set<string>();
      for (let hour = 0; hour < 72; hour += 12) {
        for (const id of await consumeSome(scope, sizes.duringThreeDays / 6)) sent.add(id);
        await on.worker.idle();
        for (let look = 0; look < 3; look++) {
          on.clock.advance(hours(4));
          await on.worker.sweep();
          await on.worker.idle();
        }
      }
      expect(shop.received.length).toBeLessThan(sent.size);
      expect(await statusesOf(scope.accountId)).toEqual([{ status: 'pending', count: sent.size }]);
      answers(200);
      shop.received.length = 0;
      on.clock.advance(5 * 60_000);
      await sendAllThatIsDue();
      // What a probe had used up its patience with comes at its own next time, a day later at most.
      for (let day = 0; day < 2; day++) {
        on.clock.advance(hours(27));
        await sendAllThatIsDue();
      }
      expect(new Set(idsOf(shop))).toEqual(sent);
      expect(await statusesOf(scope.accountId)).toEqual([{ status: 'succeeded', count: sent.size }]);
    },
    patience,
  );

  it(
    'for ten days is disabled, and every event can be had again one by one',
    async () => {
      const scope = someScope();
      const { webhookId } = await on.endpoint(scope, shop.url);
      answers(503);
      const sent = await consumeSome(scope, sizes.duringTenDays);
      for (let look = 0; look < 40; look++) {
        on.clock.advance(hours(6));
        await on.worker.sweep();
        await on.worker.idle();
      }
      const [endpoint] = await on.admin('select status from webhooks.endpoints where id = $1', [webhookId]);
      expect(endpoint).toEqual({ status: 'disabled' });
      answers(200);
      shop.received.length = 0;
      await updateEndpoint(on.webhooks, scope, webhookId, {});
      for (const eventId of sent) await retryEvent(on.webhooks, scope, eventId);
      await on.worker.idle();
      await sendAllThatIsDue();
      expect(new Set(idsOf(shop))).toEqual(new Set(sent));
    },
    patience,
  );

  it('costs one probe at a time, however much waits for it', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    answers(500);
    await consumeSome(scope, 100);
    await on.worker.idle();
    const first = shop.received.length;
    expect(first).toBeLessThanOrEqual(64);
    for (let look = 0; look < 10; look++) {
      on.clock.advance(hours(1));
      await on.worker.sweep();
      await on.worker.idle();
    }
    expect(shop.received.length - first).toBeLessThanOrEqual(10);
  });
});

describe('a dead endpoint and one that never answers', () => {
  it(
    'hold up none of the others',
    async () => {
      const tarpit = await receiver();
      tarpit.answerWith(() => undefined);
      const alone = await slowestDeliveryMs([]);
      const beside = await slowestDeliveryMs(['http://127.0.0.1:1/dead', tarpit.url]);
      // Two turns of sixteen at most: the second may begin before the first is recorded, and then the breaker is open.
      expect(tarpit.received.length).toBeLessThanOrEqual(32);
      await tarpit.close();
      // Short runs of few events on a busy machine say nothing about a fifth.
      if (isLong) expect(beside).toBeLessThan(alone * 1.2 + 50);
    },
    patience,
  );

  // Events come one by one to all healthy endpoints and the bad ones; answers the p99 of the time until a healthy one has an event.
  async function slowestDeliveryMs(bad: readonly string[]): Promise<number> {
    const scope = someScope();
    shop.received.length = 0;
    for (const url of bad) await on.endpoint(scope, url);
    for (let i = bad.length; i < sizes.healthyEndpoints + 2; i++) await on.endpoint(scope, `${shop.url}/${i}`);
    const healthy = sizes.healthyEndpoints + 2 - bad.length;
    const takes: number[] = [];
    for (let i = 0; i < sizes.fanOutEvents; i++) {
      const begun = performance.now();
      const before = shop.received.length;
      await on.consume(refundEvent(scope));
      let looksAt = begun + 1_000;
      while (shop.received.length < before + healthy) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        expect(performance.now() - begun).toBeLessThan(20_000);
        if (performance.now() < looksAt) continue;
        // An attempt that a stalled machine lets time out is tried again when it is due: nothing else looks here.
        await on.worker.sweep();
        looksAt += 1_000;
      }
      takes.push(performance.now() - begun);
    }
    return takes.sort((one, other) => one - other)[Math.floor(takes.length * 0.99)] ?? 0;
  }
});

it('reported no error of its own', () => expect(on.errors).toEqual([]));
