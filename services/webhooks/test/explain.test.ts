import { withTx } from '@eligo/postgres';
import { openKeyring } from '@eligo/service';
import { plansOf, type TestDatabase, testDatabase } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimDeliveries } from '../src/actions/claim-deliveries.ts';
import { createEndpoint } from '../src/actions/create-endpoint.ts';
import { deleteEndpoint } from '../src/actions/delete-endpoint.ts';
import { fanOutEvents } from '../src/actions/fan-out-events.ts';
import { recordAttempts } from '../src/actions/record-attempts.ts';
import { retryEvent } from '../src/actions/retry-event.ts';
import { rollSecret } from '../src/actions/roll-secret.ts';
import { secretBox } from '../src/actions/secret-box.ts';
import { testEndpoint } from '../src/actions/test-endpoint.ts';
import { updateEndpoint } from '../src/actions/update-endpoint.ts';
import type { Context } from '../src/context.ts';
import { webhooksService } from '../src/service.ts';
import { findDelivery, listDeliveries } from '../src/store/deliveries.ts';
import { findEndpoint, holdDisabled, listEndpoints } from '../src/store/endpoints.ts';
import { listEvents, purgeEvents } from '../src/store/events.ts';
import { endpointsToSend, releaseLanes, renewLanes } from '../src/store/lanes.ts';
import { asleep, refundEvent, someScope } from './machine.ts';

let place: TestDatabase;
beforeAll(async () => {
  place = await testDatabase(webhooksService);
});
afterAll(() => place.drop());

it('every statement of the store finds its rows by an index that leads with account and mode', async () => {
  // One connection, so that all statements are prepared on it, where they can be read back.
  const database = place.open('webhooks', { max: 1 });
  await runStore(database);
  const acrossAccounts = /webhooks\.(endpoints_to_send|endpoints_to_exhaust|old_events)/;
  const { checked, faults } = await plansOf({ name: 'webhooks', database, adminUrl: place.adminUrl, acrossAccounts });
  expect(checked).toBeGreaterThan(20);
  expect(faults).toEqual([]);
});

async function runStore(database: Context['database']): Promise<void> {
  const scope = someScope();
  const webhooks: Context = {
    database,
    clock: { now: () => new Date() },
    rules: { reach: 'loopback', ports: [443] },
    secrets: secretBox(openKeyring(`k:${Buffer.alloc(32).toString('base64')}`)),
    sender: {
      ...asleep,
      rooms: (_scope, endpoints, most) => new Map(endpoints.map((one) => [one.webhookId, most])),
    },
  };
  const { endpoint } = await createEndpoint(webhooks, scope, { url: 'http://127.0.0.1/', events: [] });
  const { webhookId } = endpoint;
  await findEndpoint(database, scope, webhookId);
  await updateEndpoint(webhooks, scope, webhookId, {});
  await rollSecret(webhooks, scope, webhookId);
  const { deliveryId } = await testEndpoint(webhooks, scope, webhookId, 'req_1');
  await findDelivery(database, scope, webhookId, deliveryId);
  const event = refundEvent(scope);
  await withTx(database, scope, (tx) => fanOutEvents(webhooks, tx, scope, [event]));
  await withTx(database, scope, async (tx) => {
    const claimant = { owner: 'asleep', at: new Date(), leaseMs: 60_000 };
    await renewLanes(tx, scope, [{ webhookId, oldest: newId('delivery') }], claimant);
    await releaseLanes(tx, scope, [webhookId], claimant);
  });
  await endpointsToSend(database, new Date(), 'one', 10);
  await retryEvent(webhooks, scope, event.eventId);
  for (const gone of [false, true]) {
    const claimant = { owner: 'one', at: new Date(), leaseMs: 1_000 };
    const request = { webhookId, inHand: [], room: 1 };
    const { deliveries } = await claimDeliveries(database, scope, [request], claimant);
    const results = deliveries.map((claim) => ({
      ...{ deliveryId: claim.deliveryId, webhookId, epoch: claim.epoch, gone, unreachable: true },
      ...{ startedAt: new Date(), durationMs: 1, responseStatus: 410, error: 'no', nextAttemptAt: null },
    }));
    await recordAttempts(database, scope, { results, freedLanes: [webhookId] }, new Date(), 'one');
    const good = results.map((one) => ({ ...one, error: null }));
    await recordAttempts(database, scope, { results: good, freedLanes: [] }, new Date(), 'one');
  }
  // A built query is prepared once its shape has come back a few times.
  for (let i = 0; i < 5; i++) {
    await listEndpoints(database, scope, { limit: 1 });
    await listEndpoints(database, scope, { limit: 1, startingAfter: webhookId });
    await listDeliveries(database, scope, webhookId, { limit: 1 });
    await listDeliveries(database, scope, webhookId, { limit: 1, endingBefore: deliveryId });
    await listEvents(database, scope, {}, { limit: 1 });
    await listEvents(database, scope, { eventType: 'refund.created' }, { limit: 1, startingAfter: event.eventId });
  }
  await deleteEndpoint(webhooks, scope, webhookId);
  await withTx(database, scope, (tx) => holdDisabled(tx, scope, webhookId));
  await withTx(database, scope, (tx) => purgeEvents(tx, scope, [event.eventId]));
}
