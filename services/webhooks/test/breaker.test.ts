import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { retryEvent } from '../src/actions/retry-event.ts';
import { testEndpoint } from '../src/actions/test-endpoint.ts';
import { type Fixture, openFixture, type Receiver, receiver, refundEvent, rowsOf, someScope } from './fixture.ts';

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

/** Until it is called, or the test ends, no time passes for the worker: a breaker opens for a second, which a slow machine takes to send. */
function stopClock(): () => void {
  const at = on.clock.now();
  const stopped = vi.spyOn(on.clock, 'now').mockReturnValue(at);
  onTestFinished(() => stopped.mockRestore());
  return () => stopped.mockRestore();
}

const eventIds = () => shop.received.map(({ headers }) => String(headers['webhook-id']));
const refuse = () => shop.answerWith((_request, response) => void response.writeHead(503).end());
const accept = () => shop.answerWith((_request, response) => void response.end());

it('tries a receiver that fails sixteen deliveries at once again after a second [D14.133]', async () => {
  const scope = someScope();
  await on.endpoint(scope, shop.url);
  refuse();
  const events = Array.from({ length: 16 }, () => refundEvent(scope));
  const goOn = stopClock();
  await Promise.all(events.map((event) => on.consume(event)));
  await on.worker.idle();
  const [endpoint] = await rowsOf(on, 'endpoints', scope);
  const openUntil = endpoint?.open_until as Date;
  expect(openUntil.getTime() - on.clock.now().getTime()).toBeLessThanOrEqual(1_000);
  goOn();

  accept();
  const waiting = refundEvent(scope);
  await on.consume(waiting);
  on.clock.advance(1_000);
  await on.worker.sweep();
  await on.worker.idle();
  expect(eventIds()).toContain(waiting.eventId);
  expect(await rowsOf(on, 'endpoints', scope)).toMatchObject([{ failures_in_row: 0, open_until: null }]);
});

it('sends all that waits as soon as a probe succeeds [D14.133]', async () => {
  const scope = someScope();
  await on.endpoint(scope, shop.url);
  refuse();
  for (const event of Array.from({ length: 6 }, () => refundEvent(scope))) await on.consume(event);
  await on.worker.idle();
  shop.received.length = 0;
  accept();
  // On a slow machine the breaker's second is over before the last of them comes, and that one is the probe.
  const waiting = Array.from({ length: 4 }, () => refundEvent(scope));
  for (const event of waiting) await on.consume(event);
  await on.worker.idle();
  on.clock.advance(1_500);
  await on.worker.sweep();
  await on.worker.idle();
  expect(eventIds()).toEqual(expect.arrayContaining(waiting.map(({ eventId }) => eventId)));
});

it('sends a retry that the account asks for at once, before what waits, though the breaker is open [D14.133]', async () => {
  const scope = someScope();
  await on.endpoint(scope, shop.url);
  refuse();
  const events = Array.from({ length: 16 }, () => refundEvent(scope));
  // No probe is due before the five minutes.
  const goOn = stopClock();
  for (const event of events) await on.consume(event);
  await on.worker.idle();
  await on.admin(`update webhooks.endpoints set open_until = now() + interval '5 minutes' where account_id = $1`, [
    scope.accountId,
  ]);
  goOn();
  on.clock.advance(10_000);
  shop.received.length = 0;
  await on.worker.sweep();
  await on.worker.idle();
  expect(shop.received).toEqual([]);

  const asked = events[9]?.eventId ?? '';
  await retryEvent(on.webhooks, scope, asked);
  await on.worker.idle();
  expect(eventIds()).toEqual([asked]);
  expect(on.errors).toEqual([]);
});

it('sends a test event at once, before what waits, though the breaker is open [D14.315]', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, shop.url);
  refuse();
  const goOn = stopClock();
  await Promise.all(Array.from({ length: 6 }, () => on.consume(refundEvent(scope))));
  await on.worker.idle();
  await on.admin(`update webhooks.endpoints set open_until = now() + interval '5 minutes' where account_id = $1`, [
    scope.accountId,
  ]);
  goOn();
  on.clock.advance(10_000);
  shop.received.length = 0;
  const { eventId } = await testEndpoint(on.webhooks, scope, webhookId, 'req_test');
  await on.worker.idle();
  expect(eventIds()).toEqual([eventId]);
});

it('sends a retry that is asked for while a probe is on its way as soon as that probe has failed [D14.133]', async () => {
  const scope = someScope();
  await on.endpoint(scope, shop.url);
  refuse();
  const events = Array.from({ length: 5 }, () => refundEvent(scope));
  for (const event of events) await on.consume(event);
  await on.worker.idle();
  on.clock.advance(60_000);
  shop.received.length = 0;
  let fail = (): void => undefined;
  shop.answerWith((_request, response) => {
    fail = () => void response.writeHead(503).end();
    if (shop.received.length > 1) fail();
  });
  await on.worker.sweep();
  await waitUntil(() => shop.received.length === 1);
  const asked = events.map(({ eventId }) => eventId).find((id) => id !== eventIds()[0]) ?? '';
  await retryEvent(on.webhooks, scope, asked);
  fail();
  await waitUntil(() => shop.received.length >= 2);
  await on.worker.idle();
  expect(eventIds().slice(1)).toEqual([asked]);
});
