import { Failure, type Violation } from '@eligo/failures';
import { type Cents, cents, type Discounting, maximumChargeCents, newId } from '@eligo/values';
import type { Address } from './address.ts';
import { needsLetter } from './eligibility.ts';
import { firstPeriodOf } from './first-renewal.ts';
import { laterPeriodCents } from './later-periods.ts';
import type { ValidLetter } from './letter.ts';
import type {
  CaptureMethod,
  EligibilityRecord,
  ExistingLetter,
  Session,
  SessionDetails,
  SessionDiscount,
  SessionFee,
  SessionLine,
  SessionMode,
  StorefrontPaymentDetails,
} from './session.ts';
import { type PricedLine, type Split, splitCart } from './split.ts';

/** What a partner says about a session, apart from what is in the cart. */
export interface SessionTerms {
  readonly mode: SessionMode;
  readonly captureMethod: CaptureMethod;
  readonly customerId: string | null;
  readonly customerEmail: string | null;
  readonly paymentMethodId: string | null;
  readonly clientReferenceId: string | null;
  readonly setupFutureUse: string | null;
  readonly expiresAt: Date | null;
  readonly shippingDetails: Address | null;
  readonly storefrontPaymentDetails: StorefrontPaymentDetails | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly details: SessionDetails;
}

/** A line of the cart with all that is kept of it. */
export interface ResolvedLine extends PricedLine {
  readonly description: string | null;
  readonly visitType: string | null;
  readonly eligibilityRule: string;
  readonly eligibilityRuleVersion: string;
  readonly rationale: string;
  readonly recurring: SessionLine['recurring'];
}

/** A discount with the coupon that it is kept by. */
export interface ResolvedDiscount extends Discounting {
  readonly couponId: string;
  readonly promoCodeId: string | null;
  readonly coupon: unknown;
}

/** The cart as the catalog priced it. */
export interface ResolvedCart {
  readonly lines: readonly ResolvedLine[];
  readonly discounts: readonly ResolvedDiscount[];
  readonly shippingCents: Cents;
  readonly taxCents: Cents;
  readonly fees: readonly {
    readonly amountCents: Cents;
    readonly name: string | null;
    readonly description: string | null;
    readonly feeType: string | null;
  }[];
}

/** What a new session's customer has for the lines that need a letter, and what a letter costs the shopper. */
export interface LetterTerms {
  /** The customer's valid letters, by their products. */
  readonly existing: ReadonlyMap<string, ValidLetter>;
  readonly feeCents: Cents;
}

/**
 * Refuses a session without what its mode needs, naming all of it at once (decisions 5): lines for every mode but setup, which has none;
 * `success_url` where a shopper is sent to the page, unless a payment link opens it; a customer for setup and where a stored card is charged at once.
 */
export function requireTerms(terms: SessionTerms, lineCount: number): void {
  const { mode, customerId, paymentMethodId, details } = terms;
  const violations: Violation[] = [];
  const refuse = (field: string, type: string, msg: string) => violations.push({ loc: [...body, field], msg, type });
  if (mode !== 'setup' && lineCount === 0) refuse('line_items', 'missing', 'Field required');
  if (mode === 'setup' && lineCount > 0) refuse('line_items', 'not_allowed', 'A setup session has no lines');
  const sellsOnPage = mode === 'payment' || mode === 'subscription';
  const needsSuccessUrl = sellsOnPage && details.paymentLinkId === undefined;
  if (needsSuccessUrl && details.successUrl === undefined) refuse('success_url', 'missing', 'Field required');
  const needsCustomer = mode === 'setup' || (mode === 'off_session' && paymentMethodId !== null);
  if (needsCustomer && customerId === null) refuse('customer', 'customer_required', 'A customer is required');
  if (violations.length > 0) throw Failure.violations(violations);
}

/** Whether a shopper gives the card on the checkout page. */
export function isPaidOnPage(mode: SessionMode): boolean {
  return mode !== 'off_session';
}

/** Makes a session of a cart: its split, its lines and its eligibility record. Pure, but for the new identifiers. */
export function newSession(
  id: string,
  terms: SessionTerms,
  cart: ResolvedCart,
  at: Date,
  testClockId: string | null,
  letters: LetterTerms = { existing: new Map(), feeCents: cents(0) },
): {
  session: Session;
  lines: SessionLine[];
  eligibility: EligibilityRecord | undefined;
  existingLetters: ExistingLetter[];
} {
  if (cart.lines.length === 0) refuseAmountsWithoutLines(cart);
  if (terms.mode === 'subscription') refuseNoSubscription(cart.lines);
  const split = splitCart({
    ...cart,
    feeCents: cart.fees.map((fee) => fee.amountCents),
    productsWithLetter: new Set(letters.existing.keys()),
    letterFeeCents: letters.feeCents,
  });
  const existingLetters = lettersRelied(cart, split, letters);
  const letterFee = letterFeeOf(split, existingLetters, letters);
  refuseTooLarge('The total', split.total.totalCents);
  // Also of a trial, and whatever a coupon takes off first: no card could pay a renewal.
  if (terms.mode === 'subscription') {
    refuseTooLarge('The total of a later period', laterPeriodCents(cart.lines, cart.discounts, split));
  }
  const eligibility = cart.lines.length === 0 ? undefined : eligibilityRecord(id, cart, split);
  const session: Session = {
    id,
    status: 'open',
    mode: terms.mode,
    captureMethod: terms.captureMethod,
    customerId: terms.customerId,
    customerEmail: terms.customerEmail,
    testClockId,
    paymentMethodId: terms.paymentMethodId,
    clientReferenceId: terms.clientReferenceId,
    setupFutureUse: terms.setupFutureUse,
    ...amountsOf(split),
    letterRequired: split.letterRequired,
    letterFeeCents: letterFee === undefined ? null : letters.feeCents,
    letterFeeStatus: letterFee?.status ?? null,
    splitCartId: eligibility?.id ?? null,
    visitType: sharedVisitType(cart.lines),
    fees: [
      ...cart.fees.map((fee): SessionFee => ({ id: newId('fee'), ...fee, applied: true, waivedReason: null })),
      ...(letterFee?.fee === undefined ? [] : [letterFee.fee]),
    ],
    discounts: cart.discounts.map((discount, i) => sessionDiscount(discount, split.discountCents[i] ?? cents(0))),
    enteredDiscountId: null,
    amountReceivedCents: cents(0),
    amountRefundedCents: cents(0),
    amountDisputedCents: cents(0),
    paymentIntentIds: [],
    refundIds: [],
    captureIds: [],
    disputeIds: [],
    setupIntentId: null,
    subscriptionId: null,
    invoiceId: null,
    nextAction: null,
    declinesOnPage: 0,
    declinesByRequest: 0,
    typedCards: 0,
    createdAt: at,
    expiresAt: earliestOf(expiryOf(terms.expiresAt, at), endsOf(existingLetters, letters)),
    completedAt: null,
    endedAt: null,
    renewalAsOf: null,
    shippingDetails: terms.shippingDetails && {
      ...terms.shippingDetails,
      shippingAddressId: newId('shipping_address'),
    },
    storefrontPaymentDetails: terms.storefrontPaymentDetails,
    metadata: terms.metadata,
    details: terms.details,
    version: 1n,
  };
  const lines = sessionLines(id, cart, split);
  refuseNeverCharged(session, lines, at);
  return { session, lines, eligibility, existingLetters };
}

// The letters that make a line need none.
function lettersRelied(cart: ResolvedCart, split: Split, { existing }: LetterTerms): ExistingLetter[] {
  const relied = new Map<string, string>();
  for (const [i, line] of cart.lines.entries()) {
    const letter = existing.get(line.productId);
    const isPaid = (split.lines[i]?.totalCents ?? 0) > 0;
    if (letter !== undefined && isPaid && needsLetter(line.eligibilityClass)) relied.set(line.productId, letter.id);
  }
  return [...relied].map(([productId, letterId]) => ({ productId, letterId }));
}

// When the letters end that a session relies on. No charge of a session is sent after its end, so none is sent after theirs.
function endsOf(relied: readonly ExistingLetter[], { existing }: LetterTerms): Date[] {
  return relied.flatMap(({ productId }) => existing.get(productId)?.validUntil ?? []);
}

function earliestOf(first: Date, others: readonly Date[]): Date {
  return new Date(Math.min(first.getTime(), ...others.map((one) => one.getTime())));
}

// The fee is paid once for all letters that a session needs. One that needs none because of a letter that its customer has shows it as waived.
function letterFeeOf(split: Split, relied: readonly ExistingLetter[], { feeCents }: LetterTerms) {
  const fee = { id: newId('fee'), amountCents: feeCents, name: 'Letter of medical necessity', description: null };
  const feeType = 'lmn_consultation';
  if (split.letterRequired) {
    const applied: SessionFee = { ...fee, feeType, applied: true, waivedReason: null };
    return { status: 'pending' as const, fee: feeCents === 0 ? undefined : applied };
  }
  if (relied.length === 0) return undefined;
  const waived: SessionFee = { ...fee, feeType, applied: false, waivedReason: 'existing_letter' };
  return { status: 'waived' as const, fee: waived };
}

const body = ['body', 'checkout_session'] as const;
const MINUTE = 60_000;

/** The shortest time that a session may be open: a shopper needs time to pay it (decisions 5). */
export const shortestSessionMs: number = 30 * MINUTE;
const defaultSessionMs = 24 * 60 * MINUTE;
const longestSessionMs = 7 * 24 * 60 * MINUTE;

// A minute either way is accepted: the partner's clock is not ours, and its request takes a while to arrive.
function expiryOf(asked: Date | null, at: Date): Date {
  if (asked === null) return new Date(at.getTime() + defaultSessionMs);
  const ahead = asked.getTime() - at.getTime();
  if (ahead < shortestSessionMs - MINUTE || ahead > longestSessionMs + MINUTE) {
    throw Failure.invalid([...body, 'expires_at'], 'value_error', 'Must be 30 minutes to 7 days in the future');
  }
  return asked;
}

function refuseAmountsWithoutLines(cart: ResolvedCart): void {
  const others = {
    shipping_options: cart.shippingCents,
    tax_rate: cart.taxCents,
    fees: cart.fees.reduce((sum, fee) => sum + fee.amountCents, 0),
  };
  for (const [field, amount] of Object.entries(others)) {
    if (amount > 0) throw Failure.invalid([...body, field], 'line_items_required', 'An amount requires lines');
  }
}

/** Billing changes the items of a subscription by a list of at most so many (decisions 14.115). */
const maxSubscriptionItems = 20;

// Billing bills every recurring line at each end of the subscription's one period: a line of another interval would be charged too often or too rarely.
function refuseNoSubscription(lines: readonly ResolvedLine[]): void {
  const recurring = lines.flatMap((line, index) => (line.recurring === null ? [] : [{ index, ...line.recurring }]));
  const [first] = recurring;
  const loc = [...body, 'line_items'];
  if (first === undefined) {
    throw Failure.invalid(loc, 'recurring_price_required', 'A subscription requires a recurring price');
  }
  const violations = recurring
    .filter((one) => one.interval !== first.interval || one.intervalCount !== first.intervalCount)
    .map(({ index }) => ({
      loc: [...loc, String(index), 'price'],
      type: 'value_error',
      msg: 'All recurring prices of a subscription must recur at the same interval',
    }));
  if (violations.length > 0) throw Failure.violations(violations);
  if (recurring.length > maxSubscriptionItems) {
    throw Failure.invalid(loc, 'too_long', `A subscription has at most ${maxSubscriptionItems} recurring prices`);
  }
}

// No card could pay it, and each attempt would look like a decline.
function refuseTooLarge(what: string, totalCents: number): void {
  if (totalCents <= maximumChargeCents) return;
  const msg = `${what} is ${totalCents} and must be at most ${maximumChargeCents}`;
  throw Failure.invalid([...body, 'line_items'], 'amount_too_large', msg);
}

/**
 * The line of a session that no charge would ever pay, undefined where there is none: a part that is paid once beside a trial. Nothing is charged when a trial
 * begins, and what is paid once is not charged when it ends.
 */
export function neverChargedLine(session: Session, lines: readonly SessionLine[], at: Date): number | undefined {
  if (session.mode !== 'subscription' || firstPeriodOf(session, lines, at)?.trialEnd == null) return undefined;
  const index = lines.findIndex((line) => line.recurring === null && line.amountTotalCents > 0);
  return index === -1 ? undefined : index;
}

function refuseNeverCharged(session: Session, lines: readonly SessionLine[], at: Date): void {
  const index = neverChargedLine(session, lines, at);
  if (index === undefined) return;
  throw Failure.invalid(
    [...body, 'line_items', String(index), 'price'],
    'recurring_price_required',
    'A subscription with a trial cannot include one-time prices',
  );
}

/** The amounts of a session by its split. */
export function amountsOf({ total, buckets }: Split) {
  return {
    amountSubtotalCents: total.subtotalCents,
    amountDiscountCents: total.discountCents,
    amountTaxCents: total.taxCents,
    amountShippingCents: total.shippingCents,
    amountFeeCents: total.feeCents,
    amountTotalCents: total.totalCents,
    amountEligibleCents: total.eligibleCents,
    amountIiasCents: buckets.iias,
    amountPrescriptionCents: buckets.prescription,
    amountVisionCents: buckets.vision,
    amountServiceCents: buckets.service,
  };
}

function eligibilityRecord(sessionId: string, cart: ResolvedCart, split: Split): EligibilityRecord {
  const byPolicy = cart.lines.find(
    (line, i) => line.eligibilityRule === 'food_policy' && (split.lines[i]?.eligibleCents ?? 0) > 0,
  );
  return {
    id: newId('split_cart'),
    sessionId,
    eligibleCents: split.total.eligibleCents,
    foodPolicy: byPolicy !== undefined,
    policyVersion: byPolicy?.eligibilityRuleVersion ?? null,
    chargedAttemptId: null,
  };
}

function sharedVisitType(lines: readonly ResolvedLine[]): string | null {
  const labels = new Set(lines.map((line) => line.visitType));
  const [only] = labels;
  return labels.size === 1 ? (only ?? null) : null;
}

function sessionDiscount(discount: ResolvedDiscount, amountCents: Cents): SessionDiscount {
  const { couponId, promoCodeId, coupon } = discount;
  return { id: newId('discount'), couponId, promoCodeId, coupon, amountCents, enteredCode: null };
}

function sessionLines(sessionId: string, cart: ResolvedCart, split: Split): SessionLine[] {
  return cart.lines.map((line, position) => {
    const part = split.lines[position];
    if (part === undefined) throw new RangeError(`No split for line ${position}`);
    return {
      id: newId('line_item'),
      sessionId,
      position,
      priceId: line.priceId,
      productId: line.productId,
      description: line.description,
      quantity: line.quantity,
      unitAmountCents: line.unitAmountCents,
      amountSubtotalCents: part.subtotalCents,
      amountDiscountCents: part.discountCents,
      amountTaxCents: part.taxCents,
      amountShippingCents: part.shippingCents,
      amountFeeCents: part.feeCents,
      amountTotalCents: part.totalCents,
      amountEligibleCents: part.eligibleCents,
      eligibilityClass: line.eligibilityClass,
      eligibilityRule: line.eligibilityRule,
      eligibilityRuleVersion: line.eligibilityRuleVersion,
      rationale: line.rationale,
      recurring: line.recurring,
      amountCapturedCents: cents(0),
      amountRefundedCents: cents(0),
      letterFeeGivenBackCents: cents(0),
      letterFeeRefundedCents: cents(0),
      paymentIntentId: null,
    };
  });
}
