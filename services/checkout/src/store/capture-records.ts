import { type Db, type Page, readPage, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { Capture, CaptureCause, CapturedLine, CaptureRecord } from '../domain/capture.ts';

/** The capture, or undefined. */
export async function findCapture(db: Db, scope: Scope, id: string): Promise<Capture | undefined> {
  const row = await db.row(byId, scope, [id]);
  return row && captureOfRow(row);
}

/** The capture as partners see it, or undefined: one that is unsettled or failed is not there. */
export async function findCaptureRecord(db: Db, scope: Scope, id: string): Promise<CaptureRecord | undefined> {
  const capture = await findCapture(db, scope, id);
  if (capture?.status !== 'succeeded') return undefined;
  return (await withLines(db, scope, [capture]))[0];
}

/** The captures of these ids as partners see them; those that are not there are left out. */
export async function findCaptureRecords(db: Db, scope: Scope, ids: readonly string[]): Promise<CaptureRecord[]> {
  return withLines(db, scope, (await db.rows(byIds, scope, [ids])).map(captureOfRow));
}

/** A page of the captures that succeeded, newest first, of one session or of one payment intent if asked. */
export async function listCaptures(
  db: Db,
  scope: Scope,
  page: Page,
  of: { sessionId?: string | undefined; paymentIntentId?: string | undefined },
): Promise<{ captures: CaptureRecord[]; hasMore: boolean }> {
  const ids = of.paymentIntentId === undefined ? undefined : await idsOfIntent(db, scope, of.paymentIntentId);
  const { rows, hasMore } = await readPage<CaptureRow>(
    db,
    scope,
    {
      table: 'checkout.captures',
      id: 'id',
      columns: captureColumns,
      filter: (query) => {
        // Written out: a plan for all values of a parameter cannot use `captures_succeeded`.
        query.whereRaw("status = 'succeeded'");
        if (of.sessionId !== undefined) query.where('session_id', of.sessionId);
        if (ids !== undefined) query.whereRaw('id = any(?::text[])', [ids]);
      },
    },
    page,
  );
  return { captures: await withLines(db, scope, rows.map(captureOfRow)), hasMore };
}

interface CaptureRow {
  id: string;
  session_id: string;
  cause: CaptureCause;
  status: Capture['status'];
  amount_cents: bigint;
  tax_cents: bigint;
  shipping_cents: bigint;
  discount_cents: bigint;
  final: boolean;
  metadata: Record<string, string>;
  failure_code: string | null;
  created_at: Date;
}

const captureColumns = [
  'id',
  'session_id',
  'cause',
  'status',
  'amount_cents',
  'tax_cents',
  'shipping_cents',
  'discount_cents',
  'final',
  'metadata',
  'failure_code',
  'created_at',
] as const satisfies (keyof CaptureRow)[];

function captureOfRow(row: CaptureRow): Capture {
  return {
    id: row.id,
    sessionId: row.session_id,
    cause: row.cause,
    status: row.status,
    amountCents: centsFromInt64(row.amount_cents),
    taxCents: centsFromInt64(row.tax_cents),
    shippingCents: centsFromInt64(row.shipping_cents),
    discountCents: centsFromInt64(row.discount_cents),
    isFinal: row.final,
    metadata: row.metadata,
    failureCode: row.failure_code,
    createdAt: row.created_at,
  };
}

interface LineRow {
  capture_id: string;
  line_id: string;
  price_id: string;
  payment_intent_id: string;
  amount_cents: bigint;
}

async function withLines(db: Db, scope: Scope, captures: readonly Capture[]): Promise<CaptureRecord[]> {
  if (captures.length === 0) return [];
  const rows = await db.rows(shownLines, scope, [captures.map(({ id }) => id)]);
  const lines = Map.groupBy(rows, (row) => row.capture_id);
  return captures.map((capture) => ({ ...capture, lines: (lines.get(capture.id) ?? []).map(lineOfRow) }));
}

function lineOfRow(row: LineRow): CapturedLine {
  const amountCents = centsFromInt64(row.amount_cents);
  return { priceId: row.price_id, paymentIntentId: row.payment_intent_id, amountCents };
}

// A session has at most 50 captures, and an intent belongs to one session.
async function idsOfIntent(db: Db, scope: Scope, paymentIntentId: string): Promise<string[]> {
  return (await db.rows(ofIntent, scope, [paymentIntentId])).map(({ id }) => id);
}

const byId = scoped<CaptureRow>(
  'checkout.capture',
  `select ${captureColumns.join(', ')} from checkout.captures where account_id = $1 and test_mode = $2 and id = $3`,
);

const byIds = scoped<CaptureRow>(
  'checkout.captures_by_ids',
  `select ${captureColumns.join(', ')} from checkout.captures
   where account_id = $1 and test_mode = $2 and id = any($3::text[]) and status = 'succeeded' order by id`,
);

// A line of a card whose hold was lost is not captured.
const shownLines = scoped<LineRow>(
  'checkout.capture_lines_shown',
  `select c.capture_id, c.line_id, l.price_id, c.payment_intent_id, c.amount_cents
   from checkout.capture_lines c
   join checkout.session_lines l on l.account_id = $1 and l.test_mode = $2 and l.id = c.line_id
   where c.account_id = $1 and c.test_mode = $2 and c.capture_id = any($3::text[]) and exists (
     select from checkout.intent_operations o
     where o.account_id = $1 and o.test_mode = $2 and o.capture_id = c.capture_id and o.payment_intent_id = c.payment_intent_id
       and o.status = 'done')
   order by c.capture_id, l.position`,
);

const ofIntent = scoped<{ id: string }>(
  'checkout.captures_of_intent',
  `select c.id from checkout.payment_intents i
   join checkout.captures c on c.account_id = $1 and c.test_mode = $2 and c.session_id = i.session_id
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3 and exists (select from checkout.capture_lines l
     where l.account_id = $1 and l.test_mode = $2 and l.capture_id = c.id and l.payment_intent_id = $3)`,
);
