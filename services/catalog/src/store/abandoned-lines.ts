import { type Database, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** A session's line whose price still waits for the session. */
export interface AbandonedLine {
  readonly accountId: string;
  readonly testMode: boolean;
  readonly sessionId: string;
  readonly lineIndex: number;
  readonly priceId: string;
}

/** Lines of all accounts that were made before this time and whose session has not put them up for sale, the oldest first. */
export function findAbandonedLines(database: Database, madeBefore: Date, most: number): Promise<AbandonedLine[]> {
  return database.rows(find, null, [madeBefore, most]);
}

/** Removes what the line made, and the line; nothing of it if the session has put it up for sale meanwhile. */
export async function removeAbandonedLine(tx: Tx, scope: Scope, line: AbandonedLine): Promise<boolean> {
  const { sessionId, lineIndex, priceId } = line;
  // Products before prices, as ActivateInline takes them: the two never wait in a circle.
  await tx.execute(holdProduct, scope, [sessionId, lineIndex]);
  if ((await tx.execute(deletePrice, scope, [priceId])) === 0) return false;
  await tx.execute(deleteProduct, scope, [sessionId, lineIndex]);
  await tx.execute(deleteLine, scope, [sessionId, lineIndex]);
  return true;
}

const find = unscoped<AbandonedLine>(
  'inline_lines.find_abandoned',
  `select account_id as "accountId", test_mode as "testMode", session_id as "sessionId", line_index as "lineIndex", price_id as "priceId"
   from find_abandoned_lines($1, $2::integer)`,
);
const ofLine = 'l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.line_index = $4';
const holdProduct = scoped(
  'inline_lines.hold_product',
  `select from products r join inline_lines l on l.product_id = r.product_id
   where ${ofLine} and l.product_made and r.account_id = $1 and r.test_mode = $2 for update of r`,
);
const deletePrice = scoped(
  'inline_lines.delete_price',
  'delete from prices where account_id = $1 and test_mode = $2 and price_id = $3 and pending',
);
const deleteProduct = scoped(
  'inline_lines.delete_product',
  `delete from products r using inline_lines l
   where ${ofLine} and l.product_made and r.account_id = $1 and r.test_mode = $2 and r.product_id = l.product_id and r.pending
     and not exists (select from prices p where p.account_id = $1 and p.test_mode = $2 and p.product_id = r.product_id)`,
);
const deleteLine = scoped('inline_lines.delete', `delete from inline_lines l where ${ofLine}`);
