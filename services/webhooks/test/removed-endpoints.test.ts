import type { ServerResponse } from 'node:http';
import type { Scope } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteEndpoint } from '../src/actions/delete-endpoint.ts';
import { updateEndpoint } from '../src/actions/update-endpoint.ts';
import { exhaustDeliveries } from '../src/jobs/exhaust-deliveries.ts';
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

const inFlight = 2;
const planned = 40;

let on: Fixture;
let shop: Receiver;
let held: ServerResponse[];

beforeAll(async () => {
  const limits = { perEndpointUnderWay: inFlight, underWay: 64, perEndpoint: 64, total: 256, atOnce: 256 };
  on = await openFixture({ limits }, 20_000);
});
afterAll(() => on.close());
beforeEach(async () => {
  shop = await receiver();
  held = [];
  shop.answerWith((_request, response) => void held.push(response));
});
afterEach(async () => {
  on.webhooks.sender = on.worker;
  await shop.close();
});

/** An endpoint whose deliveries this process has in hand, the first of them in flight. */
async function busyEndpoint(scope: Scope, way: 'handed over' | 'claimed'): Promise<string> {
  const { webhookId } = await on.endpoint(scope, shop.url);
  on.webhooks.sender = way === 'claimed' ? asleep : on.worker;
  for (let i = 0; i < planned; i++) await on.consume(refundEvent(scope));
  if (way === 'claimed') await on.worker.sweep();
  await waitUntil(() => held.length === inFlight);
  return webhookId;
}

/** Answers what is held, and what comes from now on. */
function answer(status = 200): void {
  shop.answerWith((_request, response) => void response.writeHead(status).end());
  for (const response of held.splice(0)) response.writeHead(status).end();
}

async function statuses(scope: Scope): Promise<Record<string, number>> {
  const rows = Map.groupBy(await rowsOf(on, 'deliveries', scope), ({ status }) => String(status));
  return Object.fromEntries([...rows].map(([status, own]) => [status, own.length]));
}

async function exhaustAll(): Promise<void> {
  const { run } = exhaustDeliveries(on);
  while (await run(new AbortController().signal));
}

describe.each(['handed over', 'claimed'] as const)('what a worker has in hand, %s,', (way) => {
  it('is not sent to an endpoint that is deleted, from the next renewal on, and is given up', async () => {
    const scope = someScope();
    const webhookId = await busyEndpoint(scope, way);
    await deleteEndpoint(on.webhooks, scope, webhookId);
    await on.worker.sweep();
    answer();
    await on.worker.idle();
    expect(shop.received).toHaveLength(inFlight);
    await on.worker.sweep();
    await on.worker.idle();
    await exhaustAll();
    // A deletion gives up what waits in the database, also what is in flight, and leaves what was handed over to the job.
    const { exhausted = 0, succeeded = 0 } = await statuses(scope);
    expect(exhausted).toBeGreaterThanOrEqual(planned - inFlight);
    expect(exhausted + succeeded).toBe(planned);
  });

  it('goes to the new URL of an endpoint that is changed, from the next renewal on', async () => {
    const scope = someScope();
    const webhookId = await busyEndpoint(scope, way);
    const moved = await receiver();
    await updateEndpoint(on.webhooks, scope, webhookId, { url: moved.url });
    await on.worker.sweep();
    answer();
    await on.worker.idle();
    expect([shop.received.length, moved.received.length]).toEqual([inFlight, planned - inFlight]);
    expect(await statuses(scope)).toEqual({ succeeded: planned });
    await moved.close();
  });

  it.each([
    ['answers 410', 410],
    ['is refused after five days without a success', 404],
  ])('is not sent to an endpoint that %s, and is given up', async (_case, status) => {
    const scope = someScope();
    await busyEndpoint(scope, way);
    if (status !== 410) {
      await on.admin(`update webhooks.endpoints set failing_since = now() - interval '6 days' where account_id = $1`, [
        scope.accountId,
      ]);
    }
    const [refused, ...others] = held.splice(0);
    refused?.writeHead(status).end();
    await waitUntil(async () => (await rowsOf(on, 'endpoints', scope))[0]?.status === 'disabled');
    // Only a 410 is known before it is recorded.
    if (status === 410) expect(shop.received.length).toBe(inFlight);
    shop.answerWith((_request, response) => void response.end());
    for (const response of [...others, ...held]) response.end();
    await on.worker.idle();
    // A commit can be seen before the worker knows of it, which may have sent some more by then.
    expect(shop.received.length).toBeLessThan(planned / 2);
    await on.worker.sweep();
    await on.worker.idle();
    await exhaustAll();
    expect((await statuses(scope)).pending).toBeUndefined();
  });
});

describe('a 410', () => {
  it('disables its endpoint, although a success is recorded with it', async () => {
    const scope = someScope();
    await busyEndpoint(scope, 'handed over');
    shop.answerWith((_request, response) => void response.end());
    const [gone, good] = held.splice(0);
    gone?.writeHead(410).end();
    good?.end();
    await on.worker.idle();
    expect(await rowsOf(on, 'endpoints', scope)).toMatchObject([{ status: 'disabled' }]);
  });
});

describe('a deletion that another process makes', () => {
  it('ends what a worker sends about a second later, with no sweep', async () => {
    const scope = someScope();
    const webhookId = await busyEndpoint(scope, 'handed over');
    // All that is planned would take eight seconds.
    const answerLater = (response: ServerResponse) => void setTimeout(() => response.end(), 400);
    shop.answerWith((_request, response) => answerLater(response));
    await deleteEndpoint(on.webhooks, scope, webhookId);
    for (const response of held.splice(0)) answerLater(response);
    await on.worker.idle();
    expect(shop.received.length).toBeLessThan(planned / 2);
  });
});

describe('a webhooks service', () => {
  it('reported no error of its own', () => expect(on.errors).toEqual([]));
});
