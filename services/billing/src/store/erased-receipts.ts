import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { erasedEmail } from '../domain/receipt.ts';
import { lockReceipts } from './erased-sessions.ts';
import { giveUpMails } from './receipt-mails.ts';

/**
 * Erases the name and address on the receipts of these sessions, also on those issued later, with their documents, and gives up mails that wait. Answers how many were
 * erased now. The documents of those that were erased before are rendered again.
 */
export async function eraseReceiptsOf(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<number> {
  await lockReceipts(tx, scope, sessionIds);
  await tx.execute(markErased, scope, [sessionIds]);
  await tx.execute(clearDocuments, scope, [sessionIds]);
  const erased = await tx.rows(erase, scope, [sessionIds]);
  await giveUpMails(
    tx,
    scope,
    erased.map(({ id }) => id),
  );
  return erased.length;
}

const markErased = scoped<never>(
  'erased_receipts.mark',
  `insert into billing.erased_sessions (account_id, test_mode, session_id)
   select $1, $2, id from unnest($3::text[]) id on conflict do nothing`,
);

// A release that did not compare what it had rendered with the receipt may have stored documents with the name after an erasure.
const clearDocuments = scoped<never>(
  'erased_receipts.clear_documents',
  `update billing.receipts set html = null, pdf = null
   where account_id = $1 and test_mode = $2 and checkout_session_id = any($3::text[]) and email = '${erasedEmail}' and html is not null`,
);

const erase = scoped<{ id: string }>(
  'erased_receipts.erase',
  `update billing.receipts set email = '${erasedEmail}', content = jsonb_set(content, '{shopperName}', 'null'), html = null, pdf = null
   where account_id = $1 and test_mode = $2 and checkout_session_id = any($3::text[]) and email <> '${erasedEmail}'
   returning id`,
);
