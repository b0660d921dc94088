import { type Db, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Letter, LetterStatus, ValidLetter } from '../domain/letter.ts';
import type { Reviewer } from '../domain/reviewer.ts';

/** The job that ends reviews whose time is over. */
export const expireLettersJob = 'expire-letters';

interface LetterRow {
  readonly id: string;
  readonly status: LetterStatus;
  readonly session_id: string;
  readonly product_id: string;
  readonly customer_id: string | null;
  readonly test_clock_id: string | null;
  readonly url: string | null;
  readonly review_until: Date;
  readonly valid_until: Date | null;
  readonly created_at: Date;
  readonly decided_at: Date | null;
  readonly reviewer_name: string | null;
  readonly reviewer_license: string | null;
  readonly reviewer_state: string | null;
}

const columns = [
  ...['id', 'status', 'session_id', 'product_id', 'customer_id', 'test_clock_id', 'url'],
  ...['review_until', 'valid_until', 'created_at', 'decided_at'],
  ...['reviewer_name', 'reviewer_license', 'reviewer_state'],
];

function letterOfRow(row: LetterRow): Letter {
  return {
    id: row.id,
    status: row.status,
    sessionId: row.session_id,
    productId: row.product_id,
    customerId: row.customer_id,
    testClockId: row.test_clock_id,
    url: row.url,
    reviewUntil: row.review_until,
    validUntil: row.valid_until,
    createdAt: row.created_at,
    decidedAt: row.decided_at,
    reviewer: reviewerOfRow(row),
  };
}

function reviewerOfRow({ reviewer_name: name, reviewer_license: license, reviewer_state: state }: LetterRow) {
  return name === null || license === null || state === null ? null : { name, license, state };
}

const insert = scoped<never>(
  'letters.insert',
  `insert into checkout.letters (account_id, test_mode, id, session_id, product_id, customer_id, test_clock_id, status, url,
     review_until, created_at)
   select $1, $2, l.id, $5, l.product_id, $6, $7, 'in_review', $8, $9, $10
   from unnest($3::text[], $4::text[]) as l (id, product_id)
   on conflict (account_id, test_mode, session_id, product_id) do nothing`,
);

/** Opens the letters of a session, one for each product; those that it has stay. The caller holds the session's row. */
export async function insertLetters(
  tx: Tx,
  scope: Scope,
  letters: readonly { readonly id: string; readonly productId: string }[],
  of: Pick<Letter, 'sessionId' | 'customerId' | 'testClockId' | 'url' | 'reviewUntil' | 'createdAt'>,
): Promise<void> {
  wakeJobAfterCommit(tx, expireLettersJob);
  await tx.execute(insert, scope, [
    letters.map(({ id }) => id),
    letters.map(({ productId }) => productId),
    of.sessionId,
    of.customerId,
    of.testClockId,
    of.url,
    of.reviewUntil,
    of.createdAt,
  ]);
}

const select = scoped<LetterRow>(
  'letters.load',
  `select ${columns.join(', ')} from checkout.letters where account_id = $1 and test_mode = $2 and id = $3`,
);

export async function findLetter(db: Db, scope: Scope, id: string): Promise<Letter | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && letterOfRow(row);
}

// A letter that is decided later ends later. So one of two is valid if any is: the one that ends last, or, where that is decided after `at`, the one that ends first.
const valid = scoped<{ id: string; product_id: string; valid_until: Date }>(
  'letters.valid',
  `select l.id, l.valid_until, p.product_id from unnest($4::text[]) as p (product_id)
   cross join lateral (
     select v.id, v.valid_until from (
       ${endingAfter('desc')}
       union all
       ${endingAfter('asc')}) v
     where v.decided_at <= $5 order by v.valid_until desc limit 1) l`,
);

function endingAfter(order: 'asc' | 'desc'): string {
  return `(select id, valid_until, decided_at from checkout.letters
        where account_id = $1 and test_mode = $2 and customer_id = $3 and product_id = p.product_id
          and status = 'approved' and valid_until > $5
        order by valid_until ${order} limit 1)`;
}

/** The letters that a customer has for products, by the product: approved by `at`, and valid then. The one that is valid for longest goes before. */
export async function findValidLetters(
  db: Db,
  scope: Scope,
  customerId: string,
  productIds: readonly string[],
  at: Date,
): Promise<ReadonlyMap<string, ValidLetter>> {
  const rows = await db.rows(valid, scope, [customerId, productIds, at]);
  return new Map(rows.map((row) => [row.product_id, { id: row.id, validUntil: row.valid_until }]));
}

const relied = scoped<{ product_id: string }>(
  'session_existing_letters.products',
  `select product_id from checkout.session_existing_letters where account_id = $1 and test_mode = $2 and session_id = $3`,
);

/** The products for which a session relies on a letter that its customer had. */
export async function productsWithLetter(db: Db, scope: Scope, sessionId: string): Promise<ReadonlySet<string>> {
  return new Set((await db.rows(relied, scope, [sessionId])).map((row) => row.product_id));
}

const ofSession = scoped<LetterRow>(
  'letters.of_session',
  `select ${columns.map((column) => `l.${column}`).join(', ')} from checkout.letters l
    where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3
   union all
   select ${columns.map((column) => `l.${column}`).join(', ')}
     from checkout.session_existing_letters e
     join checkout.letters l on l.account_id = $1 and l.test_mode = $2 and l.id = e.letter_id
    where e.account_id = $1 and e.test_mode = $2 and e.session_id = $3`,
);

/** The letters of a session by their products: its own, and those that its customer had. */
export async function lettersOfSession(db: Db, scope: Scope, sessionId: string): Promise<ReadonlyMap<string, Letter>> {
  return new Map((await db.rows(ofSession, scope, [sessionId])).map((row) => [row.product_id, letterOfRow(row)]));
}

const inReview = scoped<{ id: string }>(
  'letters.in_review',
  `select id from checkout.letters where account_id = $1 and test_mode = $2 and session_id = $3 and status = 'in_review'`,
);

/** The letters of a session that are still in review. */
export async function lettersInReview(db: Db, scope: Scope, sessionId: string): Promise<string[]> {
  return (await db.rows(inReview, scope, [sessionId])).map(({ id }) => id);
}

const decide = scoped<LetterRow>(
  'letters.decide',
  `update checkout.letters set status = $4, valid_until = $5, decided_at = $6, reviewer_id = $7, reviewer_name = $8,
     reviewer_license = $9, reviewer_state = $10
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'in_review'
   returning ${columns.join(', ')}`,
);

/** Ends a review. Undefined when it was ended before. The caller holds the session's row. */
export async function markDecided(
  tx: Tx,
  scope: Scope,
  id: string,
  decision: { status: LetterStatus; validUntil: Date | null; at: Date; reviewer: Reviewer | null },
): Promise<Letter | undefined> {
  const { status, validUntil, at, reviewer } = decision;
  const by = [reviewer?.id ?? null, reviewer?.name ?? null, reviewer?.license ?? null, reviewer?.state ?? null];
  const row = await tx.row(decide, scope, [id, status, validUntil, at, ...by]);
  return row && letterOfRow(row);
}

const expireAll = scoped<LetterRow>(
  'letters.expire_of_session',
  `update checkout.letters set status = 'expired', decided_at = $4
   where account_id = $1 and test_mode = $2 and session_id = $3 and status = 'in_review'
   returning ${columns.join(', ')}`,
);

/** Ends the reviews of a session that are not decided. The caller holds the session's row. */
export async function expireLettersOf(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<Letter[]> {
  return (await tx.rows(expireAll, scope, [sessionId, at])).map(letterOfRow);
}

export interface LetterFilter {
  readonly customerId: string | undefined;
  readonly sessionId: string | undefined;
  readonly status: string | undefined;
}

/** A page of letters, newest first. */
export async function listLetters(
  db: Db,
  scope: Scope,
  page: Page,
  { customerId, sessionId, status }: LetterFilter,
): Promise<{ letters: Letter[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<LetterRow>(
    db,
    scope,
    {
      table: 'checkout.letters',
      id: 'id',
      columns,
      filter: (query) => {
        if (customerId !== undefined) query.where('customer_id', customerId);
        if (sessionId !== undefined) query.where('session_id', sessionId);
        if (status !== undefined) query.where('status', status);
      },
    },
    page,
  );
  return { letters: rows.map(letterOfRow), hasMore };
}
