import { openDatabase, withTx } from '@eligo/postgres';
import { firstTurn, keyringCheck, openKeyring } from '@eligo/service';
import {
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededId,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import { newId } from '@eligo/values';
import { beforeAll, expect, test } from 'vitest';
import { claimDeliveries } from '../src/actions/claim-deliveries.ts';
import { continueFanOuts } from '../src/actions/continue-fan-outs.ts';
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
import { changedTargets } from '../src/store/changed-targets.ts';
import { findDelivery, listDeliveries } from '../src/store/deliveries.ts';
import { findEndpoint, holdDisabled, listEndpoints } from '../src/store/endpoints.ts';
import { findOldEvents, listEvents, purgeEvents } from '../src/store/events.ts';
import { listEventsOfRecords } from '../src/store/events-of-records.ts';
import { fanOutLagSeconds, fanOutTurns, moveFanOut } from '../src/store/fan-outs.ts';
import { releaseLanes, renewLanes } from '../src/store/lanes.ts';
import { readSecrets, replaceSealed } from '../src/store/secrets.ts';
import { endpointsToExhaust, endpointsToRecover, endpointsToSend } from '../src/store/waiting-endpoints.ts';
import { ample, asleep, refundEvent } from './fixture.ts';
import { liveEndpoint, seedWebhooks } from './growth-seed.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: webhooksService, seed: seedWebhooks, run });
}, 240_000);

test('every statement of the store is run on the large account', () => {
  // Webhooks keeps no idempotency keys. The operator's command that reseals all secrets counts them first.
  const missing = statementsNotRun(read.large).filter((name) => !name.startsWith('idempotency.'));
  expect(missing).toEqual(['secrets.count']);
});

test('no statement reads more in a large account than in a small one', () => {
  expect(growths(read.small, read.large)).toEqual([]);
});

const scope = { accountId: seededAccount, testMode: true };

async function run(place: TestDatabase): Promise<void> {
  // Beside other tests, a statement that says how it ran takes longer than the service's own bound expects.
  const database = place.open('webhooks', { statementTimeoutMs: 30_000 });
  await keyringCheck(database, openKeyring(`k:${Buffer.alloc(32).toString('base64')}`), 'webhook secrets')();
  await runEndpoints(database);
  await runLists(database);
  await runFinders(database, place);
}

async function runEndpoints(database: Context['database']): Promise<void> {
  const webhooks: Context = {
    database,
    clock: { now: () => new Date() },
    rules: { reach: 'loopback', ports: [443] },
    secrets: secretBox(openKeyring(`k:${Buffer.alloc(32).toString('base64')}`)),
    sender: {
      ...asleep,
      rooms: (_scope, endpoints, most) => new Map(endpoints.map((one) => [one.webhookId, most])),
    },
    share: ample,
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
  // More deliveries than one transaction plans: the account has 500 endpoints.
  const three = [1, 2, 3].map(() => refundEvent(scope));
  await withTx(database, scope, (tx) => fanOutEvents(webhooks, tx, scope, three));
  await continueFanOuts(webhooks, scope);
  await withTx(database, scope, (tx) => moveFanOut(tx, scope, three[0]?.eventId ?? '', webhookId));
  await withTx(database, scope, async (tx) => {
    const claimant = { owner: 'asleep', at: new Date(), leaseMs: 60_000 };
    await renewLanes(tx, scope, [{ webhookId, oldest: newId('delivery') }], claimant);
    await releaseLanes(tx, scope, [webhookId], claimant);
    const targets = [webhookId, liveEndpoint].map((id) => ({ webhookId: id, url: 'http://127.0.0.2/' }));
    await changedTargets(tx, scope, targets);
  });
  // As after the death of the process that was handed it.
  const later = refundEvent(scope);
  await withTx(database, scope, (tx) =>
    fanOutEvents({ ...webhooks, sender: { ...webhooks.sender, leaseMs: 0 } }, tx, scope, [later]),
  );
  await claimDeliveries(database, scope, [{ webhookId, inHand: [], room: 0 }], {
    owner: 'one',
    at: new Date(),
    leaseMs: 1_000,
  });
  await retryEvent(webhooks, scope, event.eventId);
  await listEventsOfRecords(database, scope, [event.aggregateId, seededId('fre', 1)]);
  // A failure would disable this one, which has failed for long, and that would give up the first thousand of what waits for it.
  const claimant = { owner: 'one', at: new Date(), leaseMs: 1_000 };
  await claimDeliveries(database, scope, [{ webhookId: liveEndpoint, inHand: [], room: 1 }], claimant);
  for (const gone of [false, true]) await sendAndRecord(database, webhookId, gone);
  await deleteEndpoint(webhooks, scope, webhookId);
  await withTx(database, scope, (tx) => holdDisabled(tx, scope, webhookId));
  await withTx(database, scope, (tx) => purgeEvents(tx, scope, [event.eventId, seededId('fevt', 1)]));
}

async function sendAndRecord(database: Context['database'], webhookId: string, gone: boolean): Promise<void> {
  const claimant = { owner: 'one', at: new Date(), leaseMs: 1_000 };
  const { deliveries } = await claimDeliveries(database, scope, [{ webhookId, inHand: [], room: 1 }], claimant);
  const results = deliveries.map((claim) => ({
    ...{ deliveryId: claim.deliveryId, webhookId, epoch: claim.epoch, dueAt: claim.dueAt, gone, unreachable: true },
    ...{ startedAt: new Date(), durationMs: 1, responseStatus: 410, error: 'no', nextAttemptAt: null },
  }));
  await recordAttempts(database, scope, { results, freedLanes: [webhookId] }, new Date(), 'one');
  const good = results.map((one) => ({ ...one, error: null }));
  await recordAttempts(database, scope, { results: good, freedLanes: [] }, new Date(), 'one');
}

// Each filter of each list, from both ends and from the middle.
async function runLists(database: Context['database']): Promise<void> {
  for (const side of [{}, { startingAfter: 200 }, { endingBefore: 200 }]) {
    const page = (prefix: string) => ({
      limit: 10,
      ...Object.fromEntries(Object.entries(side).map(([name, number]) => [name, seededId(prefix, number)])),
    });
    await listEndpoints(database, scope, page('fwh'));
    await listDeliveries(database, scope, liveEndpoint, page('fwd'));
    for (const eventType of [undefined, 'refund.updated'])
      await listEvents(database, scope, { eventType }, page('fevt'));
  }
}

// What waits in all accounts.
async function runFinders(database: Context['database'], place: TestDatabase): Promise<void> {
  const { last } = await endpointsToSend(database, new Date(), 'one', 10, undefined);
  await endpointsToSend(database, new Date(), 'one', 10, last);
  await endpointsToRecover(database, 'one', 10);
  await endpointsToExhaust(database, 10, last);
  await findOldEvents(database, new Date(), 10);
  const { last: account } = await fanOutTurns(database, firstTurn, 10);
  await fanOutTurns(database, account ?? firstTurn, 10);
  await fanOutLagSeconds(database);
  const asOwner = openDatabase({ url: place.adminUrl, applicationName: 'reseal', max: 1, schema: 'webhooks' });
  const [secret] = await readSecrets(asOwner, undefined, 10);
  if (secret === undefined) throw new Error('No secret was seeded');
  await withTx(database, secret.scope, (tx) => replaceSealed(tx, secret, 'sealed anew'));
  await asOwner.close();
}
