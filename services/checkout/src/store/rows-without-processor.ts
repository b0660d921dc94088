import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';

const next = unscoped<{ account_id: string; test_mode: boolean }>(
  'checkout.next_without_processor',
  'select account_id, test_mode from checkout.next_without_processor($1, $2)',
);

/** The next account and mode after this one with a row whose processor account is not stored. */
export async function nextWithoutProcessor(db: Db, after: Scope): Promise<Scope | undefined> {
  const row = await db.row(next, null, [after.accountId, after.testMode]);
  return row && { accountId: row.account_id, testMode: row.test_mode };
}

const fills = [
  fillOf('payment_methods'),
  fillOf('customers', 'processor_customer_id is not null'),
  fillOf('setup_intents'),
  fillOf('payment_intents'),
  fillOf('charge_attempts'),
];

/** Stores the processor account in at most `most` of such rows of each table. Answers the most that it wrote of one. */
export async function fillProcessorAccount(
  tx: Tx,
  scope: Scope,
  { processor, account }: ProcessorAccount,
  most: number,
): Promise<number> {
  let written = 0;
  for (const fill of fills) written = Math.max(written, await tx.execute(fill, scope, [processor, account, most]));
  return written;
}

function fillOf(table: string, condition = 'true') {
  return scoped(
    `checkout.fill_processor_of_${table}`,
    `update checkout.${table} t set processor = $3, processor_account = $4
     from (select id from checkout.${table}
            where account_id = $1 and test_mode = $2 and processor is null and ${condition} order by id limit $5) page
     where t.account_id = $1 and t.test_mode = $2 and t.id = page.id and t.processor is null`,
  );
}
