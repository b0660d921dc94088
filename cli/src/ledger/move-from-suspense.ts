import { type Database, isCheckViolation, type Scope, unscoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { UsageError } from '../command.ts';

/** The accounts of the ledger that an amount in suspense can be moved to. The balance at the processor moves by its own movements alone. */
export const accountsBesideSuspense = [
  ...['receivable', 'charges', 'refunds', 'refunds_payable', 'fees', 'application_fees', 'disputes', 'payouts'],
] as const;

/** What an operator says of a movement in suspense. */
export interface SuspenseMove {
  /** The processor's identifier of the movement, as `ledger check` names it. */
  readonly movementId: string;
  readonly toAccount: string;
  readonly amountCents: number;
  readonly reason: string;
  readonly movedBy: string;
}

/**
 * Moves an amount out of suspense by a ledger transaction of its own, whose two postings sum to nothing. Answers its identifier, and what of the movement is
 * left in suspense. Nothing that is posted is changed. The caller's role is not bound by row-level security.
 */
export async function moveFromSuspense(
  database: Database,
  scope: Scope,
  { movementId, toAccount, amountCents, reason, movedBy }: SuspenseMove,
): Promise<{ transactionId: string; leftCents: number }> {
  return withTx(database, null, async (tx) => {
    const [movement, another] = await tx.rows(find, null, [scope.accountId, scope.testMode, movementId]);
    if (movement === undefined) throw new UsageError(`No movement ${movementId} of this account is in suspense`);
    if (another !== undefined) throw new UsageError(`Two processor accounts have a movement ${movementId}`);
    const leftCents = Number(movement.left_cents);
    if (amountCents > leftCents) throw new UsageError(`Only ${leftCents} cents of ${movementId} are left in suspense`);
    const id = newId('ledger_transaction');
    const values = [scope.accountId, scope.testMode, id, movement.id, toAccount, amountCents, reason, movedBy];
    try {
      await tx.execute(insertMove, null, values);
    } catch (error) {
      if (!isCheckViolation(error, 'moved_within_suspense')) throw error;
      throw new UsageError(`Another command has moved ${movementId}; run ledger check`);
    }
    await tx.execute(post, null, values.slice(0, 6));
    return { transactionId: id, leftCents: leftCents - amountCents };
  });
}

const find = unscoped<{ id: string; left_cents: bigint }>(
  'suspense.find',
  `select t.id, abs(p.amount_cents) - coalesce((select sum(m.amount_cents) from refunds.suspense_moves m
       where m.account_id = t.account_id and m.test_mode = t.test_mode and m.moved_transaction_id = t.id), 0)::bigint as left_cents
     from refunds.ledger_transactions t
     join refunds.ledger_postings p on p.account_id = t.account_id and p.test_mode = t.test_mode and p.transaction_id = t.id and p.ledger_account = 'suspense'
    where t.account_id = $1 and t.test_mode = $2 and t.processor_transaction_id = $3 limit 2`,
);
const insertMove = unscoped<never>(
  'suspense.insert_move',
  `insert into refunds.suspense_moves (account_id, test_mode, id, moved_transaction_id, ledger_account, amount_cents, reason, moved_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
// A debit in suspense is credited there, and a credit is debited.
const post = unscoped<never>(
  'suspense.post_move',
  `with moved as (
     select t.*, - sign(p.amount_cents)::bigint * $6 as suspense_cents, m.created_at
       from refunds.ledger_transactions t
       join refunds.ledger_postings p on p.account_id = $1 and p.test_mode = $2 and p.transaction_id = $4 and p.ledger_account = 'suspense'
       join refunds.suspense_moves m on m.account_id = $1 and m.test_mode = $2 and m.id = $3
      where t.account_id = $1 and t.test_mode = $2 and t.id = $4
   ), posted as (
     insert into refunds.ledger_transactions (account_id, test_mode, id, kind, processor, processor_account, entry_id, amount_cents, source_id, occurred_at)
     select $1, $2, $3, 'suspense_move', processor, processor_account, $3, $6, id, created_at from moved
     returning id
   )
   insert into refunds.ledger_postings (account_id, test_mode, transaction_id, ledger_account, amount_cents)
   select $1, $2, posted.id, side.ledger_account, side.amount_cents from posted, moved,
     lateral (values ('suspense', moved.suspense_cents), ($5, - moved.suspense_cents)) side (ledger_account, amount_cents)`,
);
