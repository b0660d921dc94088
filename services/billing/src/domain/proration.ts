import { type Cents, cents, centsFromInt64, minimumChargeCents, newId, sumCents } from '@eligo/values';
import { type Eligibility, isEligible } from './finalized-invoice.ts';
import type { InvoiceLine, ProratedLines, UsedCredit } from './invoice.ts';
import type { SubscriptionItem } from './subscription.ts';

/**
 * What a change of an item within a period is worth: its unused time as a credit, or the remaining time of the new one as a charge. Of an item that stays it is what its
 * remaining time costs less or more.
 */
export interface Proration {
  readonly id: string;
  readonly subscriptionId: string;
  readonly subscriptionItemId: string;
  readonly kind: 'credit' | 'charge';
  /** Whether it is of an item that stays and whose share of a fixed discount moved. */
  readonly isShare: boolean;
  readonly priceId: string;
  readonly productId: string | null;
  readonly quantity: number;
  /** What the whole period costs, or costs less or more. */
  readonly wholeCents: Cents;
  readonly subtotalCents: Cents;
  readonly discountCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly amountCents: Cents;
  /** The part of a credit that is for charges that no invoice carried yet; 0 of a charge. It lapses with the invoice that carries them. */
  readonly unpaidCents: Cents;
  /** Whether it belongs to the part that a health card may pay. A credit belongs where its item was invoiced. */
  readonly eligible: boolean;
  /** The decision at the time of the change. */
  readonly decision: Eligibility;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  /** What no invoice carries yet. */
  readonly leftCents: Cents;
  readonly createdAt: Date;
}

/** A period, and the time within it from which something is charged or credited. */
export interface RestOfPeriod {
  readonly period: { readonly start: Date; readonly end: Date };
  readonly at: Date;
}

/** What is credited of a whole period: what is pending, so that nobody has paid it yet, and what was paid. */
interface Credited {
  readonly unpaidCents: Cents;
  readonly paidCents: Cents;
}

/** The credit for the unused time of an item, or nothing if that is worth nothing. */
export function creditOf(
  subscriptionId: string,
  item: SubscriptionItem,
  credited: Credited,
  decision: Eligibility,
  { period, at }: RestOfPeriod,
  isShare: boolean,
): Proration[] {
  const wholeCents = cents(credited.unpaidCents + credited.paidCents);
  const amountCents = unusedPart(wholeCents, { period, at });
  if (amountCents === 0) return [];
  if (item.invoicedEligible === null) throw new Error(`What item ${item.id} was invoiced as is not known`);
  return [
    {
      ...identityOf(subscriptionId, item, { period, at }),
      kind: 'credit',
      isShare,
      wholeCents,
      unpaidCents: cents(amountCents - unusedPart(credited.paidCents, { period, at })),
      ...{ subtotalCents: amountCents, discountCents: cents(0), taxCents: cents(0), shippingCents: cents(0) },
      ...{ amountCents, leftCents: amountCents },
      eligible: item.invoicedEligible,
      decision,
    },
  ];
}

/** The charge for the remaining time of an item, whose whole period costs this line, or nothing if that costs nothing. */
export function chargeOf(
  subscriptionId: string,
  item: SubscriptionItem,
  whole: InvoiceLine,
  { period, at }: RestOfPeriod,
  isShare: boolean,
): Proration[] {
  const [line] = restOfPeriod([whole], { period, at });
  if (line === undefined || line.totalCents === 0) return [];
  const { subtotalCents, discountCents, taxCents, shippingCents, totalCents } = line;
  const { eligibility, rule, ruleVersion, rationale, letterId } = whole;
  const decision = { eligibility, rule, ruleVersion, rationale, letterId };
  return [
    {
      ...identityOf(subscriptionId, item, { period, at }),
      kind: 'charge',
      isShare,
      wholeCents: whole.totalCents,
      unpaidCents: cents(0),
      ...{ subtotalCents, discountCents, taxCents, shippingCents, amountCents: totalCents, leftCents: totalCents },
      eligible: isEligible(decision),
      decision,
    },
  ];
}

/**
 * Adds what is pending to the lines of an invoice: every charge, and credits, oldest first. A credit reduces its own part, the one that a health card may
 * pay or the other one, at most to zero. What then remains to be paid is nothing or can be charged: a credit is not used to leave less than 50 cents.
 */
export function withProrations(lines: readonly InvoiceLine[], pending: readonly Proration[]): ProratedLines {
  const all = [...lines, ...pending.filter(({ kind }) => kind === 'charge').map(lineOf)];
  const { eligible, other, remaining } = usableCredits(all, pending);
  const missing = remaining > 0 && remaining < minimumChargeCents ? minimumChargeCents - remaining : 0;
  const keptOther = Math.min(missing, other);
  return {
    lines: all,
    credits: [
      ...takeFrom(creditsOf(pending, true), Math.max(0, eligible - (missing - keptOther))),
      ...takeFrom(creditsOf(pending, false), other - keptOther),
    ],
  };
}

/** What is to be paid for what is pending alone. */
export function duePending(pending: readonly Proration[]): Cents {
  const charges = pending.filter(({ kind }) => kind === 'charge').map(lineOf);
  return cents(usableCredits(charges, pending).remaining);
}

/** What is pending in all: the charges less all credits, below zero where these are more. */
export function netPending(pending: readonly Proration[]): number {
  return pending.reduce((sum, { kind, leftCents }) => sum + (kind === 'charge' ? leftCents : -leftCents), 0);
}

/** What of a period waits for a later invoice, each as a whole period. */
export interface Waiting {
  /** What is charged later and was not credited since: nobody has paid it. */
  readonly chargedCents: Cents;
  /** What credits of what was paid make up for of that. They are of what the shop had kept. */
  readonly creditedCents: Cents;
}

/** What of the present period waits for a later invoice. A credit that an invoice has used in part stands for nothing that waits. */
export function waitingOf(pending: readonly Proration[], period: RestOfPeriod['period']): Waiting {
  const { chargedCents, paidCents } = sumsOf(pendingOf(pending, period));
  return {
    chargedCents: cents(Math.max(0, chargedCents)),
    creditedCents: cents(Math.max(0, Math.min(paidCents, chargedCents))),
  };
}

/** A credit of what was paid, as a whole period, that pays nothing more once the subscription is canceled. */
export interface LapsingCredit {
  readonly eligible: boolean;
  readonly wholeCents: Cents;
}

/**
 * What lapses of the credits that wait for a later invoice: of each part, what `waitingOf` does not count. A credit makes up for charges of its own part first. One that an invoice
 * has used in part makes up for no charge that waits: what is left of it lapses.
 */
export function lapsingOf(pending: readonly Proration[], period: RestOfPeriod['period']): LapsingCredit[] {
  const ofPeriod = pendingOf(pending, period);
  const parts = [true, false].map((eligible) => {
    const { chargedCents, paidCents } = sumsOf(ofPeriod.filter((one) => one.eligible === eligible));
    const ownCents = Math.max(0, Math.min(paidCents, chargedCents));
    return { eligible, ownCents, leftCents: paidCents - ownCents };
  });
  const { creditedCents } = waitingOf(pending, period);
  let others = Math.max(
    0,
    parts.reduce((rest, { ownCents }) => rest - ownCents, Number(creditedCents)),
  );
  return parts.map(({ eligible, leftCents }) => {
    const used = Math.min(others, leftCents);
    others -= used;
    return { eligible, wholeCents: cents(leftCents - used + leftOfUsed(pending, period, eligible)) };
  });
}

// As a whole period, what is left of the credits of a part that an invoice has used in part.
function leftOfUsed(pending: readonly Proration[], { start, end }: RestOfPeriod['period'], eligible: boolean): Cents {
  const used = pending.filter(
    (one) =>
      one.kind === 'credit' &&
      one.eligible === eligible &&
      one.createdAt >= start &&
      one.periodEnd.getTime() === end.getTime() &&
      one.leftCents < one.amountCents,
  );
  return sumCents(used.map((one) => paidShareOf(one, one.leftCents)));
}

function pendingOf(pending: readonly Proration[], { start, end }: RestOfPeriod['period']): Proration[] {
  // What is left of a credit for another period pays for nothing of this one.
  const isOfEnd = ({ kind, periodEnd }: Proration) => kind === 'charge' || periodEnd.getTime() === end.getTime();
  return pending.filter((one) => one.createdAt >= start && one.leftCents === one.amountCents && isOfEnd(one));
}

// As whole periods: the charges without those that were credited before they were paid, and the credits of what was paid.
function sumsOf(prorations: readonly Proration[]): { readonly chargedCents: number; readonly paidCents: number } {
  const credits = prorations.filter(({ kind }) => kind === 'credit');
  const paidCents = sumCents(credits.map(paidWholeOf));
  const unpaidCents = sumCents(credits.map((one) => one.wholeCents)) - paidCents;
  const charges = prorations.filter(({ kind }) => kind === 'charge');
  return { chargedCents: sumCents(charges.map((one) => one.wholeCents)) - unpaidCents, paidCents };
}

/** Of a whole period, the part of a credit that is for what was paid. */
export function paidWholeOf({
  wholeCents,
  amountCents,
  unpaidCents,
}: Pick<Proration, 'wholeCents' | 'amountCents' | 'unpaidCents'>): Cents {
  return centsFromInt64((BigInt(wholeCents) * BigInt(amountCents - unpaidCents)) / BigInt(amountCents));
}

/** The same of a part of the credit. */
export function paidShareOf(
  credit: Pick<Proration, 'wholeCents' | 'amountCents' | 'unpaidCents'>,
  partCents: Cents,
): Cents {
  return centsFromInt64((BigInt(paidWholeOf(credit)) * BigInt(partCents)) / BigInt(credit.amountCents));
}

function usableCredits(lines: readonly InvoiceLine[], pending: readonly Proration[]) {
  const totalCents = sumCents(lines.map((line) => line.totalCents));
  const eligibleCents = sumCents(lines.map((line) => line.eligibleCents));
  const leftOf = (isEligible: boolean) => sumCents(creditsOf(pending, isEligible).map(({ leftCents }) => leftCents));
  const eligible = Math.min(eligibleCents, leftOf(true));
  const other = Math.min(totalCents - eligibleCents, leftOf(false));
  return { eligible, other, remaining: totalCents - eligible - other };
}

function creditsOf(pending: readonly Proration[], isEligible: boolean): Proration[] {
  return pending.filter(({ kind, eligible }) => kind === 'credit' && eligible === isEligible);
}

/** How much may be pending of the items that change, and of the shares of those that stay: what an invoice carries has a bound. */
export const mostPending = { changes: 200, shares: 800 } as const;

/** Whether more is pending than one invoice may carry. */
export function isTooMuch(pending: readonly Pick<Proration, 'isShare'>[]): boolean {
  const shares = pending.filter(({ isShare }) => isShare).length;
  return shares > mostPending.shares || pending.length - shares > mostPending.changes;
}

/** The lines of the rest of a period. */
export function restOfPeriod(lines: readonly InvoiceLine[], rest: RestOfPeriod): InvoiceLine[] {
  const part = (amount: Cents) => unusedPart(amount, rest);
  return lines.map((line) => {
    const subtotalCents = part(line.subtotalCents);
    const discountCents = part(line.discountCents);
    const taxCents = part(line.taxCents);
    const shippingCents = part(line.shippingCents);
    const totalCents = cents(subtotalCents - discountCents + taxCents + shippingCents);
    return {
      ...line,
      ...{ subtotalCents, discountCents, taxCents, shippingCents, totalCents },
      quantity: 1,
      unitAmountCents: subtotalCents,
      eligibleCents: line.eligibleCents > 0 ? totalCents : cents(0),
    };
  });
}

/** What the rest of a period is worth, of an amount for all of it: by the millisecond, rounded down. */
export function unusedPart(amount: Cents, { period: { start, end }, at }: RestOfPeriod): Cents {
  const wholeMs = end.getTime() - start.getTime();
  const restMs = Math.min(Math.max(end.getTime() - at.getTime(), 0), wholeMs);
  return centsFromInt64((BigInt(amount) * BigInt(restMs)) / BigInt(wholeMs));
}

function takeFrom(credits: readonly Proration[], amount: number): UsedCredit[] {
  let missing = amount;
  return credits.flatMap(({ id, leftCents, eligible }) => {
    const taken = Math.min(missing, leftCents);
    missing -= taken;
    return taken === 0 ? [] : [{ prorationId: id, amountCents: cents(taken), eligible }];
  });
}

// Of a part of a period: one of what the part costs.
function lineOf(charge: Proration): InvoiceLine {
  const { subscriptionItemId, priceId, productId, subtotalCents, discountCents, taxCents, shippingCents } = charge;
  return {
    ...{ subscriptionItemId, priceId, productId, quantity: 1, unitAmountCents: subtotalCents },
    ...{ subtotalCents, discountCents, taxCents, shippingCents, totalCents: charge.amountCents },
    eligibleCents: charge.eligible ? charge.amountCents : cents(0),
    ...charge.decision,
    prorationId: charge.id,
  };
}

function identityOf(subscriptionId: string, item: SubscriptionItem, { period, at }: RestOfPeriod) {
  return {
    id: newId('proration'),
    subscriptionId,
    subscriptionItemId: item.id,
    priceId: item.priceId,
    productId: item.productId,
    quantity: item.quantity,
    periodStart: at,
    periodEnd: period.end,
    createdAt: at,
  };
}
