import { maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { tellJournalAfterMs, tellJournalJob } from './journal.ts';
import { type ReceivedCharge, receivedColumns, receivedRow, receivedText } from './received-charges.ts';

// One statement for all charges of a group, as for confirms. The limit is the group's own; without it the planner expects a hundred rows of JSON.
const settle = scoped<{ intents: bigint }>(
  'checkout.settle_invoice_charges',
  `with charged as materialized (
     select c.* from json_to_recordset($3::json) as c (${receivedColumns})
     limit ${maxGroupSize}
   ), attempt as (
     update checkout.charge_attempts a set status = 'succeeded', failure_code = null, decline_code = null
     from charged c
     where a.account_id = $1 and a.test_mode = $2 and a.id = c.attempt_id and a.status in ('sending', 'unknown')
     returning c.*
   ), ${receivedText}
   select count(*) as intents from intent`,
);

/**
 * Writes what some charges of invoices that took their money change, at most 16, with one statement. False when one of them is settled already: the caller then
 * rolls back.
 */
export async function settleInvoiceCharges(tx: Tx, scope: Scope, charges: readonly ReceivedCharge[]): Promise<boolean> {
  if (!charges.every(({ isTold = false }) => isTold)) wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const written = await tx.row(settle, scope, [JSON.stringify(charges.map(receivedRow))]);
  return written?.intents === BigInt(charges.length);
}
