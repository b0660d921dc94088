import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type HealthCardStatement, recordStatement } from '../store/health-card-statements.ts';

/** Records what an account says of HSA and FSA cards, unless a newer statement is stored. Test mode charges them always and needs none. */
export async function recordHealthCardStatement(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  statement: HealthCardStatement,
): Promise<void> {
  if (scope.testMode) return;
  await withTx(database, scope, (tx) => recordStatement(tx, scope, statement));
}
