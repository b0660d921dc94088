import { type Scope, scoped, type Tx } from '@eligo/postgres';
import type { InvoiceCharge } from '../domain/invoice.ts';

/** Notes by the wall clock that its bank has updated a card. */
export async function noteCardUpdate(tx: Tx, scope: Scope, paymentMethodId: string, at: Date): Promise<void> {
  await tx.execute(note, scope, [paymentMethodId, at]);
}

/** Whether its bank has updated the card of a charge since the charge began. */
export async function wasUpdatedSince(tx: Tx, scope: Scope, charge: Pick<InvoiceCharge, 'id'>): Promise<boolean> {
  return (await tx.row(select, scope, [charge.id]))?.is_updated === true;
}

const note = scoped(
  'updated_cards.note',
  `insert into updated_cards (account_id, test_mode, payment_method_id, updated_at) values ($1, $2, $3, $4)
   on conflict (account_id, test_mode, payment_method_id) do update set updated_at = greatest(updated_cards.updated_at, excluded.updated_at)`,
);
// A charge that was under way has it noted itself.
const select = scoped<{ is_updated: boolean }>(
  'updated_cards.since',
  `select c.card_updated or exists (select from updated_cards u
     where u.account_id = $1 and u.test_mode = $2 and u.payment_method_id = c.payment_method_id and u.updated_at > c.created_at) as is_updated
   from invoice_charges c where c.account_id = $1 and c.test_mode = $2 and c.id = $3`,
);
