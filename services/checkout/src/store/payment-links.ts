import { type Db, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { PaymentLink } from '../domain/payment-link.ts';

/** The link, or undefined. */
export async function findPaymentLink(db: Db, scope: Scope, id: string): Promise<PaymentLink | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && paymentLinkOfRow(row);
}

/** A page of links, newest first; only active or only inactive ones if asked. */
export async function listPaymentLinks(
  db: Db,
  scope: Scope,
  page: Page,
  active: boolean | undefined,
): Promise<{ paymentLinks: PaymentLink[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<PaymentLinkRow>(
    db,
    scope,
    {
      table: 'checkout.payment_links',
      id: 'id',
      columns,
      filter: (query) => {
        if (active !== undefined) query.where('active', active);
      },
    },
    page,
  );
  return { paymentLinks: rows.map(paymentLinkOfRow), hasMore };
}

export async function insertPaymentLink(tx: Tx, scope: Scope, link: PaymentLink): Promise<void> {
  const { id, active, mode, terms, metadata, createdAt } = link;
  await tx.execute(insert, scope, [id, active, mode, terms, metadata, createdAt]);
}

/** The link after the change, or undefined when there is none. What is null stays. */
export async function changePaymentLink(
  tx: Tx,
  scope: Scope,
  id: string,
  change: { readonly active: boolean | null; readonly metadata: Readonly<Record<string, string>> | null },
): Promise<PaymentLink | undefined> {
  const row = await tx.row(update, scope, [id, change.active, change.metadata]);
  return row && paymentLinkOfRow(row);
}

interface PaymentLinkRow {
  readonly id: string;
  readonly active: boolean;
  readonly mode: PaymentLink['mode'];
  readonly terms: unknown;
  readonly metadata: Record<string, string>;
  readonly created_at: Date;
}

const columns = ['id', 'active', 'mode', 'terms', 'metadata', 'created_at'];

function paymentLinkOfRow({ created_at: createdAt, ...row }: PaymentLinkRow): PaymentLink {
  return { ...row, createdAt };
}

const select = scoped<PaymentLinkRow>(
  'payment_links.find',
  `select ${columns.join(', ')} from checkout.payment_links where account_id = $1 and test_mode = $2 and id = $3`,
);

const insert = scoped(
  'payment_links.insert',
  `insert into checkout.payment_links (account_id, test_mode, id, active, mode, terms, metadata, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

const update = scoped<PaymentLinkRow>(
  'payment_links.change',
  `update checkout.payment_links set active = coalesce($4, active), metadata = coalesce($5, metadata)
   where account_id = $1 and test_mode = $2 and id = $3 returning ${columns.join(', ')}`,
);
