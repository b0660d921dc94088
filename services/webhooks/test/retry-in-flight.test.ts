import type { ServerResponse } from 'node:http';
import type { Scope } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { retryEvent } from '../src/actions/retry-event.ts';
import {
  asleep,
  type Fixture,
  openFixture,
  type Receiver,
  receiver,
  refundEvent,
  rowsOf,
  someScope,
} from './fixture.ts';

let on: Fixture;
let shop: Receiver;
let held: ServerResponse[];

beforeAll(async () => {
  on = await openFixture({}, 20_000);
});
afterAll(() => on.close());
beforeEach(async () => {
  shop = await receiver();
  held = [];
  shop.answerWith((_request, response) => void held.push(response));
});
afterEach(() => shop.close());

/** Has the delivery of an event in flight, after so many attempts, and asks for the event again. */
async function retryInFlight(scope: Scope, attempts: number): Promise<void> {
  await on.endpoint(scope, shop.url);
  const event = refundEvent(scope);
  on.webhooks.sender = attempts > 0 ? asleep : on.worker;
  await on.consume(event);
  on.webhooks.sender = on.worker;
  if (attempts > 0) {
    await on.admin('update webhooks.deliveries set attempts = $2 where account_id = $1', [scope.accountId, attempts]);
    await on.worker.sweep();
  }
  await waitUntil(() => held.length === 1);
  await retryEvent(on.webhooks, scope, event.eventId);
}

describe.each([
  ['first, handed over,', 0],
  ['last', 9],
])('a retry that is asked for while the %s attempt is in flight', (_which, attempts) => {
  it('is sent as soon as that attempt fails, which is noted', async () => {
    const scope = someScope();
    await retryInFlight(scope, attempts);
    shop.answerWith((_request, response) => void response.end());
    held[0]?.writeHead(400).end();
    await waitUntil(() => shop.received.length === 2);
    await on.worker.idle();
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
    expect(await rowsOf(on, 'attempts', scope)).toMatchObject([{ response_status: 400 }]);
  });

  it('has a round of attempts of its own', async () => {
    const scope = someScope();
    await retryInFlight(scope, attempts);
    shop.answerWith((_request, response) => void response.writeHead(400).end());
    held[0]?.writeHead(400).end();
    await waitUntil(() => shop.received.length === 2);
    await on.worker.idle();
    const [delivery] = await rowsOf(on, 'deliveries', scope);
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1 });
    expect(Number(delivery?.next_attempt_at) - on.clock.now().getTime()).toBeLessThanOrEqual(5_500);
    expect(await rowsOf(on, 'attempts', scope)).toHaveLength(2);
  });

  it('is done when that attempt succeeds', async () => {
    const scope = someScope();
    await retryInFlight(scope, attempts);
    held[0]?.end();
    await on.worker.idle();
    expect(shop.received).toHaveLength(1);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded' }]);
  });
});

describe('a webhooks service', () => {
  it('reported no error of its own', () => expect(on.errors).toEqual([]));
});
