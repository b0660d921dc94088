import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { type Db, isRefusal, type Scope, type Tx, withTx } from '@eligo/postgres';
import { CouponSchema, type ResolvedPromoCode } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import { cents, minimumChargeCents, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import {
  type AppliedDiscount,
  enteredDiscount,
  type Repriced,
  repriceSession,
  takesPromoCodes,
} from '../domain/repricing.ts';
import type { Session, SessionDiscount, SessionLine } from '../domain/session.ts';
import { insertCatalogTask } from '../store/catalog-tasks.ts';
import { productsWithLetter } from '../store/letters.ts';
import { countPromoCodeTry, saveRepriced, wasCardGiven } from '../store/repricings.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { loadSession, lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { forgetReservation, reserveRedemptions } from './reserve-redemptions.ts';
import { areCouponsTooLarge, offOf } from './resolve-cart.ts';
import { runCatalogTask } from './run-catalog-task.ts';

/** A shopper types a code or two; a session takes no more, so that its page finds no codes by guessing. */
export const mostPromoCodeTries = 20;

/** Enters the promo code that a shopper typed on the page of a session, or removes it with `code` undefined. Answers with the session as it then is. */
export function changePromoCode(
  context: Context,
  call: Call,
  sessionId: string,
  code: string | undefined,
): Promise<Session> {
  return code === undefined
    ? removePromoCode(context, call, sessionId)
    : enterPromoCode(context, call, sessionId, code);
}

/**
 * The code is redeemed at the catalog under the id of its discount, as creation redeems those of the partner, and given back if the discount is not written. The
 * same code again changes nothing; another one is refused until the first is removed.
 */
async function enterPromoCode(context: Context, call: Call, sessionId: string, code: string): Promise<Session> {
  const { database, catalog, clock } = context;
  const { scope } = call;
  const session = await loadSession(database, scope, sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const at = await timeOnClock(database, scope, clock, session.testClockId);
  await requireChangeable(database, scope, session, at);
  const isCounted = await withTx(database, scope, (tx) => countPromoCodeTry(tx, scope, session.id, mostPromoCodeTries));
  if (!isCounted) throw new Failure('promo_code_tries_exceeded');
  const lines = await loadSessionLines(database, scope, session.id);
  const resolved = await catalog.resolvePromoCode(
    {
      code,
      atMs: BigInt(at.getTime()),
      lines: lines.map(({ priceId, productId }) => ({ priceId, productId })),
      ...(session.customerId === null ? {} : { customerId: session.customerId }),
    },
    call,
  );
  const discount = discountOf(resolved);
  const earlier = enteredDiscount(session.discounts);
  if (earlier !== undefined) return sameCode(session, earlier, discount);
  // What the shopper gains is known before a redemption is counted.
  await priced(database, scope, session, lines, discount, at);
  await reserveRedemptions(context, call, {
    reservation: discount.id,
    customerId: session.customerId,
    counted: [discount],
    bodyPath: [],
    at,
  });
  try {
    return await withTx(database, scope, (tx) => writeEntered(context, tx, scope, session.id, discount), {
      lockTimeoutMs: context.budgets.lockMs,
    });
  } catch (error) {
    // Refused before its commit: given back at once, so that a code with one redemption left can be entered again. After any other error, and without an answer to
    // COMMIT, the task looks later whether the discount was written.
    if (isRefusal(error)) {
      await runCatalogTask(context, { scope, sessionId: discount.id, kind: 'release_unless_written' }, call);
    }
    throw error;
  }
}

/** Writes a code that is reserved. The session is locked, and everything is checked again. */
export async function writeEntered(
  context: Context,
  tx: Tx,
  scope: Scope,
  sessionId: string,
  discount: SessionDiscount,
): Promise<Session> {
  const { session: before, at } = await lockChangeable(context, tx, scope, sessionId);
  // Entered in another tab meanwhile.
  if (enteredDiscount(before.discounts) !== undefined) throw new Failure('promo_code_already_entered');
  const lines = await loadSessionLines(tx, scope, before.id);
  const repriced = await priced(tx, scope, before, lines, discount, at);
  await forgetReservation(tx, scope, discount.id);
  return saveRepriced(tx, scope, before, repriced, { cause: 'promo_code_entered', discount, at });
}

async function removePromoCode(context: Context, call: Call, sessionId: string): Promise<Session> {
  const { scope } = call;
  const { session, removed } = await withTx(
    context.database,
    scope,
    async (tx) => {
      const { session: before, at } = await lockChangeable(context, tx, scope, sessionId);
      const discount = enteredDiscount(before.discounts);
      if (discount === undefined) return { session: before, removed: undefined };
      const others = before.discounts.filter(({ id }) => id !== discount.id);
      const lines = await loadSessionLines(tx, scope, before.id);
      const repriced = await reprice(tx, scope, before, lines, others, at);
      await insertCatalogTask(tx, scope, discount.id, 'release');
      const change = { cause: 'promo_code_removed', discount, at } as const;
      return { session: await saveRepriced(tx, scope, before, repriced, change), removed: discount.id };
    },
    { lockTimeoutMs: context.budgets.lockMs },
  );
  // At once, so that the shopper can enter it again where it was the last redemption.
  if (removed !== undefined) await runCatalogTask(context, { scope, sessionId: removed, kind: 'release' }, call);
  return session;
}

// The session, locked, whose code may change now.
async function lockChangeable(context: Context, tx: Tx, scope: Scope, sessionId: string) {
  const session = await lockSession(tx, scope, sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  await requireChangeable(tx, scope, session, at);
  return { session, at };
}

async function requireChangeable(db: Db, scope: Scope, session: Session, at: Date): Promise<void> {
  const refusal = refusalByStatus(session, at);
  if (refusal !== undefined) throw refusal;
  if (!takesPromoCodes(session)) throw new Failure('promo_codes_not_allowed');
  if (await wasCardGiven(db, scope, session)) throw new Failure('promo_code_final');
}

function sameCode(session: Session, earlier: SessionDiscount, entered: SessionDiscount): Session {
  if (earlier.promoCodeId === entered.promoCodeId) return session;
  throw new Failure('promo_code_already_entered');
}

// A coupon is redeemed once per session. A code is not redeemed that takes nothing off, or that leaves so little to pay that no card can be charged for it.
async function priced(
  db: Db,
  scope: Scope,
  session: Session,
  lines: readonly SessionLine[],
  discount: SessionDiscount,
  at: Date,
): Promise<Repriced> {
  const discounts = [...session.discounts, discount];
  if (session.discounts.some(({ couponId }) => couponId === discount.couponId) || areCouponsTooLarge(discounts)) {
    throw new Failure('coupon_not_applicable');
  }
  const repriced = await reprice(db, scope, session, lines, discounts, at);
  const { amountTotalCents } = repriced.session;
  const isChargeable = amountTotalCents === 0 || amountTotalCents >= minimumChargeCents;
  if (!isChargeable || amountTotalCents >= session.amountTotalCents) throw new Failure('coupon_not_applicable');
  return repriced;
}

async function reprice(
  db: Db,
  scope: Scope,
  session: Session,
  lines: readonly SessionLine[],
  discounts: readonly SessionDiscount[],
  at: Date,
): Promise<Repriced> {
  const letters = await productsWithLetter(db, scope, session.id);
  return repriceSession(session, lines, discounts.map(appliedDiscount), letters, at);
}

function appliedDiscount(discount: SessionDiscount): AppliedDiscount {
  const coupon = fromJson(CouponSchema, discount.coupon as JsonValue, { ignoreUnknownFields: true });
  const { products = [], prices = [] } = coupon.appliesTo ?? {};
  return { discount, discounting: { off: offOf(coupon), products, prices } };
}

function discountOf({ coupon, promoCodeId, code }: ResolvedPromoCode): SessionDiscount {
  if (coupon === undefined) throw new Error('The catalog returned a promo code without its coupon');
  return {
    id: newId('discount'),
    couponId: coupon.couponId,
    promoCodeId,
    coupon: toJson(CouponSchema, coupon),
    amountCents: cents(0),
    enteredCode: code,
  };
}
