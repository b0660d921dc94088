import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** Marks payment intents of an erased customer: no dispute of them stores evidence from now on. Waits for those that are storing some. */
export async function markErased(tx: Tx, scope: Scope, paymentIntentIds: readonly string[]): Promise<void> {
  await tx.execute(lock, scope, [paymentIntentIds]);
  await tx.execute(mark, scope, [paymentIntentIds]);
}

/** A dispute whose evidence can still be given. */
export interface OpenDispute {
  readonly disputeId: string;
  readonly dueBy: Date | null;
}

/** The disputes of these payment intents that wait for a response. */
export async function findOpenDisputes(
  db: Db,
  scope: Scope,
  paymentIntentIds: readonly string[],
): Promise<OpenDispute[]> {
  const rows = await db.rows(selectOpen, scope, [paymentIntentIds]);
  return rows.map(({ id, due_by }) => ({ disputeId: id, dueBy: due_by }));
}

/** A page of the disputes of a payment intent, those after one, in the order of their ids. */
export async function disputesOfIntent(
  db: Db,
  scope: Scope,
  paymentIntentId: string,
  after: string,
  most: number,
): Promise<string[]> {
  return (await db.rows(selectDisputes, scope, [paymentIntentId, after, most])).map(({ id }) => id);
}

/**
 * Erases the evidence and the metadata of these disputes, and the content of files that waits for its upload; returns how many had any. Their intents are
 * marked.
 */
export async function eraseDisputesOf(tx: Tx, scope: Scope, disputeIds: readonly string[]): Promise<number> {
  const erased = await tx.execute(erase, scope, [disputeIds]);
  await tx.execute(endWaiting, scope, [disputeIds]);
  await tx.execute(deleteParts, scope, [disputeIds]);
  return erased;
}

/** The files that these disputes were given, and that no dispute of another customer was given. */
export async function filesOfErased(db: Db, scope: Scope, disputeIds: readonly string[]): Promise<string[]> {
  return (await db.rows(selectFiles, scope, [disputeIds])).map(({ file_id }) => file_id);
}

// In one order, so that two erasures cannot wait for each other. Migration 0140 takes the same locks.
const lock = scoped<never>(
  'erased_intents.lock',
  `select pg_advisory_xact_lock(hashtextextended('refunds.evidence:' || $1::text || ':' || $2::boolean || ':' || i.id, 0))
   from (select id from unnest($3::text[]) id order by id offset 0) i`,
);
const mark = scoped<never>(
  'erased_intents.mark',
  `insert into refunds.erased_intents (account_id, test_mode, payment_intent_id)
   select $1, $2, id from unnest($3::text[]) id on conflict do nothing`,
);
const selectDisputes = scoped<{ id: string }>(
  'erased_intents.disputes',
  `select id from refunds.disputes
   where account_id = $1 and test_mode = $2 and payment_intent_id = $3 and id > $4 order by id limit $5`,
);
// A payment has a dispute or two; the list stops at twenty.
const selectOpen = scoped<{ id: string; due_by: Date | null }>(
  'erased_intents.open_disputes',
  `select d.id, d.due_by from unnest($3::text[]) as i (id) cross join lateral (
     select id, due_by from refunds.disputes
      where account_id = $1 and test_mode = $2 and payment_intent_id = i.id and status in ('needs_response', 'warning_needs_response')
      order by id limit 20) d
   order by d.id`,
);
const erase = scoped<never>(
  'erased_intents.erase',
  `update refunds.disputes set evidence = '{}', metadata = '{}'
   where account_id = $1 and test_mode = $2 and id = any($3::text[]) and (evidence <> '{}' or metadata <> '{}')`,
);
const ofDisputes = 'account_id = $1 and test_mode = $2 and dispute_id = any($3::text[])';
const endWaiting = scoped<never>(
  'erased_intents.end_waiting',
  `update refunds.evidence_files set content_until = null where ${ofDisputes} and content_until is not null`,
);
const deleteParts = scoped<never>(
  'erased_intents.delete_parts',
  `delete from refunds.evidence_parts where ${ofDisputes}`,
);
const selectFiles = scoped<{ file_id: string }>(
  'erased_intents.files',
  `select distinct f.file_id from refunds.evidence_files f
   where f.account_id = $1 and f.test_mode = $2 and f.dispute_id = any($3::text[])
     and not exists (
       select from refunds.evidence_files other
         join refunds.disputes o on o.account_id = $1 and o.test_mode = $2 and o.id = other.dispute_id
        where other.account_id = $1 and other.test_mode = $2 and other.file_id = f.file_id
          and not exists (select from refunds.erased_intents e
                           where e.account_id = $1 and e.test_mode = $2 and e.payment_intent_id = o.payment_intent_id))`,
);
