import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** What a session's line made. */
export interface InlineLine {
  readonly lineIndex: number;
  readonly priceId: string;
  readonly productId: string;
  readonly productMade: boolean;
}

/** Notes what a line makes. False when it has been made before; a call that makes it at this moment is waited for. */
export async function claimInlineLine(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  line: InlineLine,
  at: Date,
): Promise<boolean> {
  const { lineIndex, priceId, productId, productMade } = line;
  return (await tx.execute(claim, scope, [sessionId, lineIndex, priceId, productId, productMade, at])) === 1;
}

/** The lines that the session has made. */
export function findInlineLines(db: Db, scope: Scope, sessionId: string): Promise<InlineLine[]> {
  return db.rows(find, scope, [sessionId]);
}

/** Puts what the session's lines made up for sale. Doing it again does nothing. */
export async function activateInlineLines(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<void> {
  await tx.execute(activateProducts, scope, [sessionId, at]);
  await tx.execute(activatePrices, scope, [sessionId, at]);
}

const claim = scoped(
  'inline_lines.claim',
  `insert into inline_lines (account_id, test_mode, session_id, line_index, price_id, product_id, product_made, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
);
const find = scoped<InlineLine>(
  'inline_lines.find',
  `select line_index as "lineIndex", price_id as "priceId", product_id as "productId", product_made as "productMade"
   from inline_lines where account_id = $1 and test_mode = $2 and session_id = $3`,
);
const activateProducts = scoped(
  'inline_lines.activate_products',
  `update products r set active = true, pending = false, updated_at = $4 from inline_lines l
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.product_made
     and r.account_id = $1 and r.test_mode = $2 and r.product_id = l.product_id and r.pending`,
);
const activatePrices = scoped(
  'inline_lines.activate_prices',
  `update prices r set active = true, pending = false, updated_at = $4 from inline_lines l
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3
     and r.account_id = $1 and r.test_mode = $2 and r.price_id = l.price_id and r.pending`,
);
