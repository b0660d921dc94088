import { toJson } from '@bufbuild/protobuf';
import { Failure, type Violation } from '@eligo/failures';
import { isRefusal, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ResolvedDiscount } from '@eligo/proto/catalog/v1/catalog';
import { DiscountSchema } from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { StoredDiscount } from '../domain/discounts.ts';
import type { Subscription } from '../domain/subscription.ts';
import { deleteCatalogTask, insertCatalogTask } from '../store/catalog-tasks.ts';
import { runCatalogTask } from './run-catalog-task.ts';

/** What the partner gives for a discount: at most one of the two. */
export interface GivenDiscount {
  readonly couponId: string | null;
  readonly promoCode: string | null;
}

// A request that has not written its discount by then never will: no call lasts longer than 30 s.
const givenUpMs = 60_000;

/** The discount as the catalog is asked for it. */
export function cartDiscountsOf({ couponId, promoCode }: GivenDiscount) {
  if (couponId !== null) return [{ source: { case: 'couponId' as const, value: couponId } }];
  return promoCode === null ? [] : [{ source: { case: 'promoCode' as const, value: promoCode } }];
}

/** Whose discount it is, and when it is given. */
interface DiscountOwner {
  readonly subscriptionId: string;
  readonly customerId: string;
  readonly at: Date;
}

/** A discount as a subscription keeps it, before a redemption is counted. */
export function unreservedDiscount(
  { testMode }: Scope,
  { subscriptionId, customerId }: DiscountOwner,
  { coupon, promoCodeId }: ResolvedDiscount,
): StoredDiscount {
  if (coupon === undefined) throw new Error('The catalog resolved a discount without its coupon');
  return toJson(DiscountSchema, {
    $typeName: 'eligo.checkout.v1.Discount',
    ...{ discountId: newId('discount'), customerId, subscriptionId, couponId: coupon.couponId, coupon },
    ...(promoCodeId === undefined ? {} : { promoCodeId }),
    testMode,
    amountCents: 0n,
  }) as StoredDiscount;
}

/**
 * Counts a redemption at the catalog, which refuses a coupon or code that is used up, and returns the discount as a subscription keeps it. A task noted
 * beforehand releases what stays counted for a discount that is never written.
 */
export async function reserveDiscount(
  context: Context,
  call: Call,
  of: DiscountOwner,
  resolved: ResolvedDiscount,
): Promise<StoredDiscount> {
  const { scope } = call;
  const { subscriptionId, customerId, at } = of;
  const discount = unreservedDiscount(scope, of, resolved);
  const { discountId = '', couponId = '', promoCodeId } = discount;
  await withTx(context.database, scope, (tx) =>
    insertCatalogTask(tx, { scope, discountId, subscriptionId, kind: 'release_unless_written' }, givenUpMs),
  );
  const reservation = {
    sessionId: discountId,
    couponIds: [couponId],
    promoCodeIds: promoCodeId === undefined ? [] : [promoCodeId],
    customerId,
    atMs: BigInt(at.getTime()),
    bodyPath: ['body', 'subscription'],
  };
  await atGivenField(context.catalog.reserveRedemption(reservation, call), promoCodeId !== undefined);
  return discount;
}

/**
 * Writes a reserved discount. A refusal releases its redemption at once, so that the same request can use a coupon with one redemption left. After any other error,
 * and without an answer to COMMIT, the task checks later whether the discount was written.
 */
export async function releasingOnRefusal<Result>(
  context: Context,
  scope: Scope,
  subscriptionId: string,
  reserved: StoredDiscount | undefined,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (isRefusal(error)) await releaseUnwritten(context, scope, subscriptionId, reserved);
    throw error;
  }
}

/** Releases at once the redemption of a discount that was not written. */
export async function releaseUnwritten(
  context: Context,
  scope: Scope,
  subscriptionId: string,
  reserved: StoredDiscount | undefined,
): Promise<void> {
  const { discountId } = reserved ?? {};
  if (discountId === undefined) return;
  await runCatalogTask(context, { scope, discountId, subscriptionId, kind: 'release_unless_written' });
}

/** In the transaction that writes the discount: it is kept. With `isFinal` its redemption is counted for good. */
export async function keepDiscounts(tx: Tx, scope: Scope, subscription: Subscription, isFinal: boolean): Promise<void> {
  for (const discountId of discountIdsOf(subscription)) {
    await deleteCatalogTask(tx, { scope, discountId, kind: 'release_unless_written' });
    if (isFinal) await insertCatalogTask(tx, { scope, discountId, subscriptionId: subscription.id, kind: 'finalize' });
  }
}

/** In the transaction in which an incomplete subscription is paid or ends: its redemptions are counted for good or released. */
export async function settleRedemptions(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  kind: 'finalize' | 'release',
): Promise<void> {
  for (const discountId of discountIdsOf(subscription)) {
    await insertCatalogTask(tx, { scope, discountId, subscriptionId: subscription.id, kind });
  }
}

/** Reports a refusal of a discount at the field that the partner used. */
export async function atGivenField<Answer>(answer: Promise<Answer>, isPromoCode: boolean): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Failure) || error.violations === undefined) throw error;
    const field = isPromoCode ? 'promo_code' : 'coupon';
    throw Failure.violations(error.violations.map((violation) => placed(violation, field)));
  }
}

function placed(violation: Violation, field: string): Violation {
  const [body = '', record = '', list] = violation.loc;
  return list === 'discounts' ? { ...violation, loc: [body, record, field] } : violation;
}

function discountIdsOf({ discounts }: Subscription): string[] {
  return (discounts as readonly StoredDiscount[]).flatMap(({ discountId }) =>
    discountId === undefined ? [] : [discountId],
  );
}
