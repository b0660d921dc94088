import { type Db, type Scope, scoped } from '@eligo/postgres';

const knownCharges = scoped<{ operation_id: string }>(
  'checkout.charge_attempts_of_invoices',
  `select asked.operation_id from unnest($3::text[], $4::text[]) as asked (operation_id, invoice_id)
   where exists (select from checkout.charge_attempts a where a.account_id = $1 and a.test_mode = $2 and a.operation_id = asked.operation_id offset 0)
     or exists (select from checkout.charge_attempts a where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'invoice'
       and a.subject_id = asked.invoice_id and a.status in ('created', 'sending', 'unknown', 'succeeded') offset 0)`,
);

/** Those of billing's operations that have an attempt, or whose invoice has a live one. */
export async function operationsWithAttempts(
  db: Db,
  scope: Scope,
  charges: readonly { readonly operationId: string; readonly invoiceId: string }[],
): Promise<Set<string>> {
  const values = [charges.map(({ operationId }) => operationId), charges.map(({ invoiceId }) => invoiceId)];
  const rows = await db.rows(knownCharges, scope, values);
  return new Set(rows.map((row) => row.operation_id));
}
