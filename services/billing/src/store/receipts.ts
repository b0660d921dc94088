import { type Db, type Page, readPage, type Scope, scoped, sqlBuilder, type Tx, unscoped } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import { erasedEmail, type MailedReceipt, type Receipt } from '../domain/receipt.ts';

/** The documents of a receipt. */
export interface ReceiptDocuments {
  readonly html: string;
  readonly pdf: Buffer;
}

/** Writes a receipt; false when its session, or this amount of its refund, has one, and then nothing is written. */
export async function insertReceipt(tx: Tx, scope: Scope, receipt: Receipt): Promise<boolean> {
  const { id, checkoutSessionId, subscriptionId, refundId, email, amountCents, content, createdAt } = receipt;
  const values = [id, checkoutSessionId, subscriptionId, email ?? noEmail, amountCents, content, createdAt, refundId];
  return (await tx.execute(insert, scope, values)) === 1;
}

/** The receipt, or undefined. */
export async function findReceipt(db: Db, scope: Scope, id: string): Promise<MailedReceipt | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && fromRow(row);
}

/** A page of receipts, newest first. */
export async function listReceipts(
  db: Db,
  scope: Scope,
  page: Page,
  of: { checkoutSessionId?: string | undefined; subscriptionId?: string | undefined; refundId?: string | undefined },
): Promise<{ receipts: MailedReceipt[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<ReceiptRow>(
    db,
    scope,
    {
      table: 'receipts',
      id: 'id',
      columns: [...columns.map((column) => `receipts.${column}`), lastMail('receipts')],
      filter: (query) => {
        if (of.checkoutSessionId !== undefined) query.where('checkout_session_id', of.checkoutSessionId);
        if (of.subscriptionId !== undefined) query.where('subscription_id', of.subscriptionId);
        if (of.refundId !== undefined) query.where('refund_id', of.refundId);
      },
    },
    page,
  );
  return { receipts: rows.map(fromRow), hasMore };
}

/** The receipt of what was paid of a session, if it can be mailed, or undefined: one without an address, or whose shopper was erased, cannot. */
export async function findReceiptOfSession(db: Db, scope: Scope, sessionId: string): Promise<string | undefined> {
  return (await db.row(selectOfSession, scope, [sessionId]))?.id;
}

/** What the last receipt of a refund says that its cards keep; undefined: it has none. Each one says less than the one before. */
export async function lastRefundedCents(db: Db, scope: Scope, refundId: string): Promise<Cents | undefined> {
  const row = await db.row(selectLastOfRefund, scope, [refundId]);
  return row && centsFromInt64(row.amount_cents);
}

/** The name of the shop on a receipt of a subscription; undefined where none was issued. */
export async function nameOnReceipts(db: Db, scope: Scope, subscriptionId: string): Promise<string | undefined> {
  return (await db.row(selectName, scope, [subscriptionId]))?.name ?? undefined;
}

/** When this installation began to issue receipts of refunds. */
export async function refundReceiptsSince(db: Db): Promise<Date | undefined> {
  return (await db.row(selectSince, null))?.applied_at;
}

/** The documents of a receipt if they exist. */
export async function findDocuments(db: Db, scope: Scope, id: string): Promise<ReceiptDocuments | undefined> {
  return db.row(selectDocuments, scope, [id]);
}

/** Stores the documents that were rendered of a receipt, unless another process has, or its shopper was erased since it was read. */
export async function keepDocuments(
  tx: Tx,
  scope: Scope,
  { id, content }: Pick<Receipt, 'id' | 'content'>,
  { html, pdf }: ReceiptDocuments,
): Promise<void> {
  await tx.execute(updateDocuments, scope, [id, html, pdf, content]);
}

interface ReceiptRow {
  readonly id: string;
  readonly checkout_session_id: string;
  readonly subscription_id: string | null;
  readonly refund_id: string | null;
  readonly email: string;
  readonly amount_cents: bigint;
  readonly content: Receipt['content'];
  readonly created_at: Date;
  readonly mail: { readonly status: NonNullable<MailedReceipt['mailStatus']>; readonly sent_at: string | null } | null;
}

function fromRow(row: ReceiptRow): MailedReceipt {
  return {
    id: row.id,
    checkoutSessionId: row.checkout_session_id,
    subscriptionId: row.subscription_id,
    refundId: row.refund_id,
    email: row.email === noEmail || row.email === erasedEmail ? null : row.email,
    amountCents: centsFromInt64(row.amount_cents),
    content: row.content,
    createdAt: row.created_at,
    mailStatus: row.mail?.status ?? null,
    mailedAt: row.mail?.sent_at ? new Date(row.mail.sent_at) : null,
  };
}

// Stands in the column where there is no address: a process of an earlier release expects a text there, and no mail is ever delivered to this domain (RFC 2606).
const noEmail = 'none@invalid';

const columns = [
  ...['id', 'checkout_session_id', 'subscription_id', 'refund_id', 'email', 'amount_cents', 'content', 'created_at'],
];

const insert = scoped(
  'receipts.insert',
  `insert into receipts (account_id, test_mode, id, checkout_session_id, subscription_id, email, amount_cents, content, created_at, refund_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
);
const lastMail = (table: string) =>
  sqlBuilder.raw(
    `(select jsonb_build_object('status', m.status, 'sent_at', m.sent_at) from receipt_mails m
       where m.account_id = ${table}.account_id and m.test_mode = ${table}.test_mode and m.receipt_id = ${table}.id
       order by m.id desc limit 1) as mail`,
  );

const select = scoped<ReceiptRow>(
  'receipts.find',
  `select ${columns.map((column) => `r.${column}`).join(', ')}, ${lastMail('r')}
   from receipts r where r.account_id = $1 and r.test_mode = $2 and r.id = $3`,
);

const selectOfSession = scoped<{ id: string }>(
  'receipts.of_session',
  `select id from receipts where account_id = $1 and test_mode = $2 and checkout_session_id = $3 and refund_id is null
     and email not in ('${erasedEmail}', '${noEmail}')`,
);

const selectName = scoped<{ name: string | null }>(
  'receipts.name_of_shop',
  `select nullif(content ->> 'merchantName', '') as name from receipts
   where account_id = $1 and test_mode = $2 and subscription_id = $3 order by id desc limit 1`,
);

const selectLastOfRefund = scoped<{ amount_cents: bigint }>(
  'receipts.last_of_refund',
  `select amount_cents from receipts where account_id = $1 and test_mode = $2 and refund_id = $3 order by amount_cents limit 1`,
);

const selectSince = unscoped<{ applied_at: Date }>(
  'receipts.refunds_since',
  "select applied_at from migrations where id = 'billing/0370_refund_receipts.sql'",
);

const selectDocuments = scoped<ReceiptDocuments>(
  'receipts.documents',
  'select html, pdf from receipts where account_id = $1 and test_mode = $2 and id = $3 and html is not null',
);

const updateDocuments = scoped(
  'receipts.keep_documents',
  `update receipts set html = $4, pdf = $5
   where account_id = $1 and test_mode = $2 and id = $3 and html is null and content = $6::jsonb`,
);
