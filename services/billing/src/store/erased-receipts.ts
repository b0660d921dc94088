import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { erasedEmail } from '../domain/receipt.ts';

/** Erases the name and address on the receipts of these sessions, with their documents, and gives up mails that wait. */
export async function eraseReceiptsOf(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<number> {
  const erased = await tx.rows(erase, scope, [sessionIds]);
  await tx.execute(giveUpMails, scope, [erased.map(({ id }) => id)]);
  return erased.length;
}

const erase = scoped<{ id: string }>(
  'erased_receipts.erase',
  `update billing.receipts set email = '${erasedEmail}', content = jsonb_set(content, '{shopperName}', 'null'), html = null, pdf = null
   where account_id = $1 and test_mode = $2 and checkout_session_id = any($3::text[]) and email <> '${erasedEmail}'
   returning id`,
);

const giveUpMails = scoped<never>(
  'erased_receipts.give_up_mails',
  `update billing.receipt_mails set status = 'failed', failure_code = 'erased', next_try_at = null, lease_until = null
   where account_id = $1 and test_mode = $2 and receipt_id = any($3::text[]) and status = 'pending'`,
);
