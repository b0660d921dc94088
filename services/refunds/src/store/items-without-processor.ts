import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';

const next = unscoped<{ account_id: string; test_mode: boolean }>(
  'refunds.next_without_processor',
  'select account_id, test_mode from refunds.next_without_processor($1, $2)',
);

/** The next account and mode after this one with a part of a refund whose processor account is not stored. */
export async function nextWithoutProcessor(db: Db, after: Scope): Promise<Scope | undefined> {
  const row = await db.row(next, null, [after.accountId, after.testMode]);
  return row && { accountId: row.account_id, testMode: row.test_mode };
}

const fill = scoped(
  'refunds.fill_processor',
  `update refunds.refund_items t set processor = $3, processor_account = $4
   from (select refund_id, payment_intent_id from refunds.refund_items
          where account_id = $1 and test_mode = $2 and processor is null order by refund_id limit $5) page
   where t.account_id = $1 and t.test_mode = $2 and t.refund_id = page.refund_id and t.payment_intent_id = page.payment_intent_id
     and t.processor is null`,
);

/** Stores the processor account in at most `most` of such parts. Answers how many it wrote. */
export function fillProcessorAccount(
  tx: Tx,
  scope: Scope,
  { processor, account }: ProcessorAccount,
  most: number,
): Promise<number> {
  return tx.execute(fill, scope, [processor, account, most]);
}
