import { withTx } from '@eligo/postgres';
import { firstTurn } from '@eligo/service';
import { seededId, vacuumDeleted } from '@eligo/testkit';
import { expect } from 'vitest';
import { tellJournal } from '../src/actions/tell-journal.ts';
import {
  dueJournal,
  journalLagSeconds,
  nameOldCharges,
  nameSharedCaptures,
  nextJournalInMs,
  putOffTelling,
} from '../src/store/journal.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** Runs every statement of the journal, while all seeded captures wait to be told, and once they all wait for later. */
export async function exerciseJournal({ context, database, scope, test }: ChargingFixture): Promise<void> {
  await dueJournal(database, firstTurn, 10);
  await nextJournalInMs(database);
  await journalLagSeconds(database);
  await tellJournal(context, scope);
  await withTx(database, scope, (tx) => putOffTelling(tx, scope, [seededId('fltx', 900)], 1_000));
  await withTx(database, scope, (tx) => nameOldCharges(tx, scope, new Set([seededId('fch', 900)])));
  const [entryId, chargeId, sourceId] = [seededId('fltx', 900), seededId('fch', 900), seededId('fcap', 900)];
  const entry = { entryId, chargeId, sourceId, paymentIntentId: seededId('fpi', 900) };
  await withTx(database, scope, (tx) => nameSharedCaptures(tx, scope, [entry]));
  // What is due later is not looked through, however much it is.
  await test.admin(`update checkout.ledger_entries set tell_at = now() + interval '1 day' where tell_at is not null`);
  await vacuumDeleted(test, ['checkout.ledger_entries']);
  expect((await dueJournal(database, firstTurn, 10)).due).toEqual([]);
  await tellJournal(context, scope);
}
