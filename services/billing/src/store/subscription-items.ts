import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import type { Subscription, SubscriptionItem } from '../domain/subscription.ts';

/** An item as a row of its subscription carries it. */
export interface ItemJson {
  readonly id: string;
  readonly priceId: string;
  readonly productId: string | null;
  readonly quantity: string;
  readonly unitAmountCents: string;
  readonly taxCents: string;
  readonly agreedTaxCents: string | null;
  readonly agreedSubtotalCents: string | null;
  readonly shippingCents: string;
  readonly soldByRule: string | null;
  readonly invoicedCents: string | null;
  readonly invoicedEligible: boolean | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** SQL for the items of a subscription, in their order. Int64 are text and times milliseconds: numbers inside json lose what does not fit a double. */
export function itemsOf(table: string): string {
  return `(select coalesce(json_agg(json_build_object('id', i.id, 'priceId', i.price_id, 'quantity', i.quantity::text,
      'unitAmountCents', i.unit_amount_cents::text, 'productId', i.product_id, 'taxCents', i.tax_cents::text,
      'agreedTaxCents', i.agreed_tax_cents::text, 'agreedSubtotalCents', i.agreed_subtotal_cents::text, 'shippingCents', i.shipping_cents::text, 'soldByRule', i.sold_by_rule, 'invoicedCents', i.invoiced_cents::text,
      'invoicedEligible', i.invoiced_eligible, 'createdAt', (extract(epoch from i.created_at) * 1000)::bigint,
      'updatedAt', (extract(epoch from i.updated_at) * 1000)::bigint) order by i.position), '[]')
    from subscription_items i where i.account_id = ${table}.account_id and i.test_mode = ${table}.test_mode
      and i.subscription_id = ${table}.id) as items`;
}

export function itemOfJson(item: ItemJson): SubscriptionItem {
  return {
    id: item.id,
    priceId: item.priceId,
    productId: item.productId,
    quantity: Number(item.quantity),
    unitAmountCents: centsFromInt64(BigInt(item.unitAmountCents)),
    taxCents: centsFromInt64(BigInt(item.taxCents)),
    agreedTaxCents: centsOrNull(item.agreedTaxCents),
    agreedSubtotalCents: centsOrNull(item.agreedSubtotalCents),
    shippingCents: centsFromInt64(BigInt(item.shippingCents)),
    soldByRule: item.soldByRule,
    invoicedCents: centsOrNull(item.invoicedCents),
    invoicedEligible: item.invoicedEligible,
    createdAt: new Date(item.createdAt),
    updatedAt: new Date(item.updatedAt),
  };
}

function centsOrNull(text: string | null): Cents | null {
  return text === null ? null : centsFromInt64(BigInt(text));
}

/** Writes the items of a new subscription, in their order. */
export async function insertSubscriptionItems(
  tx: Tx,
  scope: Scope,
  subscriptionId: string,
  items: readonly SubscriptionItem[],
): Promise<void> {
  await tx.execute(insert, scope, [...columnsOf(items), subscriptionId]);
}

/** Writes what changes of the items of a subscription. Those that stay keep their places, and new ones follow them. The caller holds its row. */
export async function saveSubscriptionItems(
  tx: Tx,
  scope: Scope,
  before: Subscription,
  after: Subscription,
): Promise<void> {
  if (before.items === after.items) return;
  const earlier = new Map(before.items.map((item) => [item.id, item]));
  const kept = new Set(after.items.map(({ id }) => id));
  const removed = before.items.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  const changed = after.items.filter((item) => isChanged(earlier.get(item.id), item));
  const added = after.items.filter(({ id }) => !earlier.has(id));
  if (removed.length > 0) await tx.execute(remove, scope, [removed]);
  if (changed.length > 0) await tx.execute(update, scope, columnsOf(changed));
  if (added.length > 0) await insertSubscriptionItems(tx, scope, after.id, added);
}

/** The same for subscriptions whose items all stay. */
export async function saveItemsOfSeveral(
  tx: Tx,
  scope: Scope,
  changes: readonly { readonly before: Subscription; readonly after: Subscription }[],
): Promise<void> {
  const changed = changes.flatMap(({ before, after }) => {
    const earlier = new Map(before.items.map((item) => [item.id, item]));
    return after.items.filter((item) => isChanged(earlier.get(item.id), item));
  });
  if (changed.length > 0) await tx.execute(update, scope, columnsOf(changed));
}

function isChanged(earlier: SubscriptionItem | undefined, item: SubscriptionItem): boolean {
  if (earlier === undefined) return false;
  return (Object.keys(item) as (keyof SubscriptionItem)[]).some((key) => String(earlier[key]) !== String(item[key]));
}

function columnsOf(items: readonly SubscriptionItem[]): unknown[] {
  const column = <Key extends keyof SubscriptionItem>(key: Key) => items.map((item) => item[key]);
  return [
    column('id'),
    column('priceId'),
    column('quantity'),
    column('unitAmountCents'),
    column('productId'),
    column('taxCents'),
    column('shippingCents'),
    column('soldByRule'),
    column('invoicedCents'),
    column('invoicedEligible'),
    column('createdAt'),
    column('updatedAt'),
    column('agreedTaxCents'),
    column('agreedSubtotalCents'),
  ];
}

const values = `unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[], $10::text[], $11::bigint[],
     $12::boolean[], $13::timestamptz[], $14::timestamptz[], $15::bigint[], $16::bigint[]) with ordinality
     as item (id, price_id, quantity, amount, product_id, tax, shipping, rule, invoiced, eligible, created_at, updated_at, agreed_tax, agreed_on, nth)`;
const insert = scoped(
  'subscription_items.insert',
  `insert into subscription_items (account_id, test_mode, subscription_id, id, position, price_id, quantity, unit_amount_cents, product_id,
     tax_cents, shipping_cents, sold_by_rule, invoiced_cents, invoiced_eligible, created_at, updated_at, agreed_tax_cents, agreed_subtotal_cents)
   select $1, $2, $17, item.id, item.nth + coalesce((select max(position) from subscription_items i
       where i.account_id = $1 and i.test_mode = $2 and i.subscription_id = $17), -1), item.price_id, item.quantity, item.amount,
     item.product_id, item.tax, item.shipping, item.rule, item.invoiced, item.eligible, item.created_at, item.updated_at,
     item.agreed_tax, item.agreed_on
   from ${values}`,
);
const update = scoped(
  'subscription_items.save',
  `update subscription_items i set price_id = item.price_id, quantity = item.quantity, unit_amount_cents = item.amount,
     product_id = item.product_id, tax_cents = item.tax, shipping_cents = item.shipping, sold_by_rule = item.rule,
     invoiced_cents = item.invoiced, invoiced_eligible = item.eligible, updated_at = item.updated_at,
     agreed_tax_cents = item.agreed_tax, agreed_subtotal_cents = item.agreed_on
   from ${values} where i.account_id = $1 and i.test_mode = $2 and i.id = item.id`,
);
const remove = scoped(
  'subscription_items.delete',
  'delete from subscription_items where account_id = $1 and test_mode = $2 and id = any($3::text[])',
);
