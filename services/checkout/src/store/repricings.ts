import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Repriced } from '../domain/repricing.ts';
import type { Session, SessionDiscount } from '../domain/session.ts';

/** A promo code that a shopper entered or removed. */
export interface Repricing {
  readonly cause: 'promo_code_entered' | 'promo_code_removed';
  readonly discount: SessionDiscount;
  readonly at: Date;
}

/** Counts a try to enter a code on the page of a session, before anything is asked of it. False once the session has had `most` of them. */
export async function countPromoCodeTry(tx: Tx, scope: Scope, sessionId: string, most: number): Promise<boolean> {
  return (await tx.execute(countTry, scope, [sessionId, most])) === 1;
}

/** Whether a card was given for the session, so that its amounts are final: a payment or a set-up has begun, whatever came of it. */
export async function wasCardGiven(db: Db, scope: Scope, session: Session): Promise<boolean> {
  return session.setupIntentId !== null || (await db.row(selectGiven, scope, [session.id]))?.given === true;
}

/** Whether a session has this discount now. */
export async function hasDiscount(db: Db, scope: Scope, discountId: string): Promise<boolean> {
  return (await db.row(selectDiscount, scope, [discountId])) !== undefined;
}

/**
 * Writes a session as it is priced anew, with the row that says why. The caller holds the session's row. Throws when it is no longer the one that was read, and
 * when a card was given.
 */
export async function saveRepriced(
  tx: Tx,
  scope: Scope,
  before: Session,
  { session, lines }: Repriced,
  { cause, discount, at }: Repricing,
): Promise<Session> {
  await tx.execute(insertRepricing, scope, [
    ...[before.id, cause, discount.id, discount.promoCodeId],
    ...[session.amountDiscountCents, session.amountTotalCents, session.amountEligibleCents, at],
  ]);
  const written = await tx.execute(updateSession, scope, [
    ...[before.id, before.version, session.amountDiscountCents, session.amountTotalCents, session.amountEligibleCents],
    ...[session.amountIiasCents, session.amountPrescriptionCents, session.amountVisionCents],
    ...[session.amountServiceCents, session.discounts.length, session.enteredDiscountId],
  ]);
  if (written !== 1) throw new Error('A session changed after it was read');
  await tx.execute(updateLines, scope, [before.id, JSON.stringify(lines)]);
  const kept = session.discounts.filter(({ id }) => id !== discount.id);
  await tx.execute(updateDiscounts, scope, [before.id, JSON.stringify(kept)]);
  if (cause === 'promo_code_removed') await tx.execute(removeDiscount, scope, [before.id, discount.id]);
  else {
    const entered = session.discounts.find(({ id }) => id === discount.id) ?? discount;
    await tx.execute(insertDiscount, scope, [
      ...[before.id, kept.length, entered.id, entered.couponId, entered.promoCodeId],
      ...[JSON.stringify(entered.coupon), entered.amountCents, entered.enteredCode],
    ]);
  }
  await tx.execute(updateRecord, scope, [before.id, session.amountEligibleCents]);
  return { ...session, version: before.version + 1n };
}

const countTry = scoped<never>(
  'promo_code_tries.count',
  `insert into checkout.promo_code_tries as t (account_id, test_mode, session_id, tries) values ($1, $2, $3, 1)
   on conflict (account_id, test_mode, session_id) do update set tries = t.tries + 1 where t.tries < $4::int`,
);

const selectGiven = scoped<{ given: boolean }>(
  'repricings.card_given',
  `select exists (
     select from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.session_id = $3
   ) or exists (
     select from checkout.payment_plans p
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state not in ('done', 'failed')
   ) as given`,
);

const selectDiscount = scoped<{ id: string }>(
  'repricings.discount',
  'select id from checkout.session_discounts where account_id = $1 and test_mode = $2 and id = $3',
);

const insertRepricing = scoped<never>(
  'repricings.insert',
  `insert into checkout.session_repricings (account_id, test_mode, session_id, number, cause, discount_id, promo_code_id,
     discount_cents, total_cents, eligible_cents, created_at)
   select $1, $2, $3, coalesce(max(r.number), 0) + 1, $4, $5, $6, $7, $8, $9, $10
   from checkout.session_repricings r where r.account_id = $1 and r.test_mode = $2 and r.session_id = $3`,
);

const updateSession = scoped<never>(
  'repricings.session',
  `update checkout.sessions set amount_discount_cents = $5, amount_total_cents = $6, amount_eligible_cents = $7, amount_iias_cents = $8,
     amount_prescription_cents = $9, amount_vision_cents = $10, amount_service_cents = $11, discount_count = $12, entered_discount_id = $13, next_action = null,
     version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4 and status = 'open'`,
);

const updateLines = scoped<never>(
  'repricings.lines',
  `update checkout.session_lines l set amount_discount_cents = n."amountDiscountCents", amount_tax_cents = n."amountTaxCents",
     amount_shipping_cents = n."amountShippingCents", amount_fee_cents = n."amountFeeCents", amount_total_cents = n."amountTotalCents",
     amount_eligible_cents = n."amountEligibleCents"
   from json_to_recordset($4::json) as n (id text, "amountDiscountCents" bigint, "amountTaxCents" bigint, "amountShippingCents" bigint,
     "amountFeeCents" bigint, "amountTotalCents" bigint, "amountEligibleCents" bigint)
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.id = n.id`,
);

const updateDiscounts = scoped<never>(
  'repricings.discounts',
  `update checkout.session_discounts d set amount_cents = n."amountCents"
   from json_to_recordset($4::json) as n (id text, "amountCents" bigint)
   where d.account_id = $1 and d.test_mode = $2 and d.session_id = $3 and d.id = n.id and d.amount_cents <> n."amountCents"`,
);

const removeDiscount = scoped<never>(
  'repricings.remove_discount',
  'delete from checkout.session_discounts where account_id = $1 and test_mode = $2 and session_id = $3 and id = $4',
);

const insertDiscount = scoped<never>(
  'repricings.insert_discount',
  `insert into checkout.session_discounts
     (account_id, test_mode, session_id, position, id, coupon_id, promo_code_id, coupon, amount_cents, entered_code)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

const updateRecord = scoped<never>(
  'repricings.eligibility_record',
  `update checkout.eligibility_records set eligible_cents = $4
   where account_id = $1 and test_mode = $2 and session_id = $3 and eligible_cents <> $4`,
);
