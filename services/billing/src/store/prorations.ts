import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { UsedCredit } from '../domain/invoice.ts';
import { mostPending, type Proration } from '../domain/proration.ts';

/** Writes what a change of items is worth; it is pending until an invoice carries it. */
export async function insertProrations(tx: Tx, scope: Scope, made: readonly Proration[]): Promise<void> {
  if (made.length === 0) return;
  const column = <Value>(of: (one: Proration) => Value) => made.map(of);
  await tx.execute(insert, scope, [
    column(({ id }) => id),
    column(({ subscriptionId }) => subscriptionId),
    column(({ subscriptionItemId }) => subscriptionItemId),
    column(({ kind }) => kind),
    column(({ priceId }) => priceId),
    column(({ productId }) => productId),
    column(({ quantity }) => quantity),
    column(({ wholeCents }) => wholeCents),
    column(({ subtotalCents }) => subtotalCents),
    column(({ discountCents }) => discountCents),
    column(({ taxCents }) => taxCents),
    column(({ shippingCents }) => shippingCents),
    column(({ amountCents }) => amountCents),
    column(({ eligible }) => eligible),
    column(({ decision }) => decision.eligibility),
    column(({ decision }) => decision.rule),
    column(({ decision }) => decision.ruleVersion),
    column(({ decision }) => decision.rationale),
    column(({ decision }) => decision.letterId),
    column(({ periodStart }) => periodStart),
    column(({ periodEnd }) => periodEnd),
    column(({ leftCents }) => leftCents),
    column(({ createdAt }) => createdAt),
    column(({ isShare }) => isShare),
    column(({ unpaidCents }) => unpaidCents),
  ]);
}

/** What no invoice of a subscription carries yet, in the order in which it was made. It is at most `mostPending`. */
export async function pendingProrations(db: Db, scope: Scope, subscriptionId: string): Promise<Proration[]> {
  return (await db.rows(selectPending, scope, [subscriptionId, mostPending.changes + mostPending.shares])).map(fromRow);
}

/** Those of the subscriptions for which something is pending. */
export async function subscriptionsWithPending(
  db: Db,
  scope: Scope,
  subscriptionIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.rows(selectWithPending, scope, [subscriptionIds]);
  return new Set(rows.map(({ id }) => id));
}

/** Records the credits that a new invoice of a subscription uses, and that it carries these charges: all that are pending. */
export async function carryProrations(
  tx: Tx,
  scope: Scope,
  subscriptionId: string,
  invoiceId: string,
  carried: { readonly credits: readonly UsedCredit[]; readonly chargeIds: readonly string[] },
): Promise<void> {
  const { credits, chargeIds } = carried;
  // Before the credits are used: those that are used up are no longer among the pending ones. A credit is for earlier charges of its own item: a process of the release before
  // can have had another invoice carry these, and noted nothing.
  if (chargeIds.length > 0) await tx.execute(carryCharges, scope, [chargeIds, subscriptionId, invoiceId]);
  if (credits.length > 0) {
    await tx.execute(insertCredits, scope, [
      invoiceId,
      credits.map(({ prorationId }) => prorationId),
      credits.map(({ amountCents }) => amountCents),
      credits.map(({ eligible }) => eligible),
    ]);
    await tx.execute(useCredits, scope, [invoiceId]);
  }
}

/** The credits by which an invoice is reduced, each with the class of what was credited. */
export async function loadInvoiceCredits(
  db: Db,
  scope: Scope,
  invoiceId: string,
): Promise<(UsedCredit & { readonly eligibility: string | null })[]> {
  return (await db.rows(selectCredits, scope, [invoiceId])).map((row) => ({
    prorationId: row.proration_id,
    amountCents: centsFromInt64(row.amount_cents),
    eligible: row.eligible,
    eligibility: row.eligibility,
  }));
}

/** Gives back the credits that an invoice used, which is void. What is credited of the charges that it carries lapses with them. */
export async function returnCredits(tx: Tx, scope: Scope, subscriptionId: string, invoiceId: string): Promise<void> {
  await tx.execute(giveBack, scope, [invoiceId]);
  await tx.execute(lapse, scope, [invoiceId, subscriptionId]);
}

interface ProrationRow {
  id: string;
  subscription_id: string;
  subscription_item_id: string;
  kind: Proration['kind'];
  price_id: string;
  product_id: string | null;
  quantity: bigint;
  whole_cents: bigint;
  subtotal_cents: bigint;
  discount_cents: bigint;
  tax_cents: bigint;
  shipping_cents: bigint;
  amount_cents: bigint;
  eligible: boolean;
  eligibility: string | null;
  rule: string;
  rule_version: string;
  rationale: string;
  letter_id: string | null;
  period_start: Date;
  period_end: Date;
  left_cents: bigint;
  created_at: Date;
  is_share: boolean;
  unpaid_cents: bigint;
}

function fromRow(row: ProrationRow): Proration {
  return {
    id: row.id,
    subscriptionId: row.subscription_id,
    subscriptionItemId: row.subscription_item_id,
    kind: row.kind,
    isShare: row.is_share,
    priceId: row.price_id,
    productId: row.product_id,
    quantity: Number(row.quantity),
    wholeCents: centsFromInt64(row.whole_cents),
    subtotalCents: centsFromInt64(row.subtotal_cents),
    discountCents: centsFromInt64(row.discount_cents),
    taxCents: centsFromInt64(row.tax_cents),
    shippingCents: centsFromInt64(row.shipping_cents),
    amountCents: centsFromInt64(row.amount_cents),
    eligible: row.eligible,
    decision: {
      eligibility: row.eligibility,
      rule: row.rule,
      ruleVersion: row.rule_version,
      rationale: row.rationale,
      letterId: row.letter_id,
    },
    periodStart: row.period_start,
    periodEnd: row.period_end,
    leftCents: centsFromInt64(row.left_cents),
    createdAt: row.created_at,
    unpaidCents: centsFromInt64(row.unpaid_cents),
  };
}

// Those of the release before have no `seq`: they are older, and in the order of their ids.
const columns = `id, subscription_id, subscription_item_id, kind, price_id, product_id, quantity, whole_cents, subtotal_cents, discount_cents,
     tax_cents, shipping_cents, amount_cents, eligible, eligibility, rule, rule_version, rationale, letter_id, period_start, period_end,
     left_cents, created_at, is_share, unpaid_cents`;
const insert = scoped(
  'prorations.insert',
  `insert into prorations (account_id, test_mode, ${columns})
   select $1, $2, made.*
   from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
     $13::bigint[], $14::bigint[], $15::bigint[], $16::boolean[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[],
     $22::timestamptz[], $23::timestamptz[], $24::bigint[], $25::timestamptz[], $26::boolean[], $27::bigint[]) as made (${columns})`,
);
const selectPending = scoped<ProrationRow>(
  'prorations.pending',
  `select ${columns} from prorations where account_id = $1 and test_mode = $2 and subscription_id = $3 and left_cents > 0
   order by seq nulls first, id limit $4`,
);
const selectWithPending = scoped<{ id: string }>(
  'prorations.pending_of_several',
  `select s.id from unnest($3::text[]) as s (id) where exists (
     select from prorations p where p.account_id = $1 and p.test_mode = $2 and p.subscription_id = s.id and p.left_cents > 0 offset 0)`,
);
const insertCredits = scoped(
  'invoice_credits.insert',
  `insert into invoice_credits (account_id, test_mode, invoice_id, proration_id, amount_cents, eligible)
   select $1, $2, $3, used.* from unnest($4::text[], $5::bigint[], $6::boolean[]) as used (id, amount, eligible)`,
);
const useCredits = scoped(
  'prorations.use_credits',
  `update prorations p set left_cents = p.left_cents - c.amount_cents from invoice_credits c
   where p.account_id = $1 and p.test_mode = $2 and c.account_id = $1 and c.test_mode = $2 and c.invoice_id = $3 and p.id = c.proration_id`,
);
const carryCharges = scoped(
  'prorations.carry_charges',
  `with credits as (
     update prorations p set unpaid_invoice_id = $5
      where account_id = $1 and test_mode = $2 and subscription_id = $4 and left_cents > 0 and unpaid_cents > 0 and unpaid_invoice_id is null
        and exists (select 1 from prorations c where c.account_id = $1 and c.test_mode = $2 and c.id = any($3::text[])
          and c.subscription_item_id = p.subscription_item_id and (coalesce(c.seq, 0), c.id) < (coalesce(p.seq, 0), p.id)))
   update prorations set left_cents = 0 where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
const selectCredits = scoped<{
  proration_id: string;
  amount_cents: bigint;
  eligible: boolean;
  eligibility: string | null;
}>(
  'invoice_credits.of_invoice',
  `select c.proration_id, c.amount_cents, c.eligible, p.eligibility from invoice_credits c
   join prorations p on p.account_id = $1 and p.test_mode = $2 and p.id = c.proration_id
   where c.account_id = $1 and c.test_mode = $2 and c.invoice_id = $3
   order by p.seq nulls first, p.id`,
);
const giveBack = scoped(
  'prorations.give_back',
  `update prorations p set left_cents = p.left_cents + c.amount_cents from invoice_credits c
   where p.account_id = $1 and p.test_mode = $2 and c.account_id = $1 and c.test_mode = $2 and c.invoice_id = $3 and p.id = c.proration_id`,
);
const lapse = scoped(
  'prorations.lapse',
  `update prorations set left_cents = left_cents - least(left_cents, unpaid_cents - lapsed_cents),
     lapsed_cents = lapsed_cents + least(left_cents, unpaid_cents - lapsed_cents)
   where account_id = $1 and test_mode = $2 and subscription_id = $4 and left_cents > 0 and unpaid_invoice_id = $3`,
);
