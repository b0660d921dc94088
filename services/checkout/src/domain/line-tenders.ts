import { type Cents, cents, partOf, sumCents } from '@eligo/values';
import { type HealthcareCents, noHealthcare } from './charge-attempt.ts';
import { bucketOf, needsLetter } from './eligibility.ts';
import type { DividedLine } from './line-allocation.ts';
import type { SessionLine } from './session.ts';

/** What one card pays of a line of a session whose health card was approved for a part. */
export interface LineTender {
  readonly lineId: string;
  readonly paymentIntentId: string;
  readonly amountCents: Cents;
  readonly capturedCents: Cents;
  readonly refundedCents: Cents;
}

/** What the two cards pay of a line. */
export interface LineShares {
  readonly lineId: string;
  readonly healthCents: Cents;
  readonly otherCents: Cents;
}

type TenderedLine = Pick<SessionLine, 'id' | 'amountTotalCents' | 'amountEligibleCents' | 'eligibilityClass'>;

/**
 * Divides lines between a health card that pays `healthCents` and another card that pays the rest (decisions 14.183): the health card pays eligible lines whole, in the
 * cart's order and those that need a letter last, until its money is used up. So one line at most is paid with both.
 */
export function divideLines(lines: readonly TenderedLine[], healthCents: Cents): LineShares[] {
  const health = new Map<string, Cents>();
  let left: number = healthCents;
  for (const line of lines.toSorted((a, b) => place(a) - place(b))) {
    const part = cents(Math.min(left, line.amountEligibleCents));
    health.set(line.id, part);
    left -= part;
  }
  if (left > 0) throw new RangeError('A health card pays no more than what is eligible');
  return lines.map(({ id, amountTotalCents }) => {
    const part = health.get(id) ?? cents(0);
    return { lineId: id, healthCents: part, otherCents: cents(amountTotalCents - part) };
  });
}

function place({ eligibilityClass }: TenderedLine): number {
  return Number(needsLetter(eligibilityClass));
}

/** The buckets of what the health card pays. */
export function healthcareOfShares(lines: readonly TenderedLine[], shares: readonly LineShares[]): HealthcareCents {
  const sums: { -readonly [Name in keyof HealthcareCents]: HealthcareCents[Name] } = { ...noHealthcare };
  for (const { id, eligibilityClass } of lines) {
    const bucket = bucketOf(eligibilityClass);
    if (bucket === undefined) continue;
    const name = `${bucket}Cents` as const;
    sums[name] = cents(sums[name] + (shares.find(({ lineId }) => lineId === id)?.healthCents ?? 0));
  }
  return sums;
}

/**
 * A line once for each of its tenders, in their order, with what each card can give of it and has given. The last one has the rest of the line's tax, shipping and
 * discount, of which the others have what belongs to their amount.
 */
export function linesOfTenders(
  line: Pick<DividedLine, 'id' | 'priceId' | 'productId' | 'taxCents' | 'shippingCents' | 'discountCents'>,
  tenders: readonly (Pick<LineTender, 'paymentIntentId' | 'amountCents'> & { limitCents: Cents; takenCents: Cents })[],
): DividedLine[] {
  const total = sumCents(tenders.map(({ amountCents }) => amountCents));
  let before = 0;
  return tenders.map(({ paymentIntentId, amountCents, limitCents, takenCents }) => {
    const until = before + amountCents;
    const part = (component: Cents) => cents(partOf(component, until, total) - partOf(component, before, total));
    const components = {
      taxCents: part(line.taxCents),
      shippingCents: part(line.shippingCents),
      discountCents: part(line.discountCents),
    };
    before = until;
    return {
      id: `${line.id} ${paymentIntentId}`,
      lineId: line.id,
      ...{ priceId: line.priceId, productId: line.productId, paymentIntentId, limitCents, takenCents },
      ...components,
    };
  });
}
