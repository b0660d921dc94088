import { pruneKeys, withTx } from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { cents } from '@eligo/values';
import { acceptProcessorEvent } from '../src/actions/accept-processor-event.ts';
import { recordDispute } from '../src/actions/record-dispute.ts';
import { dueCatalogTasks, nextCatalogTaskInMs } from '../src/store/catalog-tasks.ts';
import {
  countChargeWork,
  dueChargeWork,
  dueChargeWorkOfAccounts,
  nextChargeWorkInMs,
  wakeChargeWork,
} from '../src/store/charge-work.ts';
import { deletedClocks, leaveDeletedClock, noteClockLeft } from '../src/store/deleted-clocks.ts';
import { findChargeAtProcessor } from '../src/store/disputes.ts';
import { dueSessions, dueSessionsOnClocks, nextDueSession } from '../src/store/due-sessions.ts';
import { pruneProcessorEvents } from '../src/store/processor-events.ts';
import { pruneSessionKeys } from '../src/store/session-keys.ts';
import { mirrorTestClock, settledClocks } from '../src/store/test-clocks.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** For each finder: what is due in all accounts is a tenth of all records and more. */
export async function exerciseJobs({ clock, database, scope }: ChargingFixture): Promise<void> {
  const first = await dueSessions(database, new Date(), 10);
  await dueSessions(database, new Date(), 10, first.last);
  await nextDueSession(database, new Date());
  await dueSessionsOnClocks(database, 10);
  await settledClocks(database, 10);
  await deletedClocks(database, 10);
  await withTx(database, scope, async (tx) => {
    const deleted = seededId('fclk', 20);
    await mirrorTestClock(tx, scope, deleted, clock.now(), clock.now());
    await leaveDeletedClock(tx, scope, deleted, 10);
    await noteClockLeft(tx, scope, deleted, clock.now());
  });
  await dueCatalogTasks(database, 10);
  await nextCatalogTaskInMs(database);
  await dueChargeWork(database, 10);
  await dueChargeWorkOfAccounts(database, undefined, { accounts: 20, each: 1 });
  await nextChargeWorkInMs(database);
  await wakeChargeWork(database, 0, 10);
  await countChargeWork(database, 0);
  const told = { disputeId: seededId('fdp', 60), amountCents: cents(50), heldCents: cents(50), seq: 2n };
  await recordDispute({ database }, scope, `pi_${seededId('fpi', 60).slice(4)}`, told);
  await findChargeAtProcessor(database, scope, seededId('fch', 60));
  const event = { processor: 'sandbox', eventId: 'evt_new', type: 'payment_intent.succeeded', createdAt: new Date() };
  const intent = `pi_${seededId('fpi', 60).slice(4)}`;
  await acceptProcessorEvent({ database, clock }, scope, { ...event, objectId: intent });
  const canceled = { ...event, eventId: 'evt_canceled', type: 'payment_intent.canceled' };
  await acceptProcessorEvent({ database, clock }, scope, { ...canceled, objectId: intent });
  await withTx(database, null, (tx) => pruneProcessorEvents(tx, 10));
  await withTx(database, null, (tx) => pruneSessionKeys(tx, 10));
  await withTx(database, null, (tx) => pruneKeys(tx, 10));
}
