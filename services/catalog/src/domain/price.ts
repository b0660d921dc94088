import { Failure } from '@eligo/failures';
import type { EligibilityClass } from './eligibility-class.ts';
import { checkAmount, checkClass, checkClear, indexedTextLength, type Loc, type Metadata } from './field-rules.ts';

export type RecurringInterval = 'day' | 'week' | 'month' | 'year';

/** How often a price recurs. */
export interface Recurring {
  readonly interval: RecurringInterval;
  readonly intervalCount: number;
  readonly trialPeriodDays: number | null;
}

/** What a product costs. Amount, recurrence and product never change. */
export interface Price {
  readonly priceId: string;
  readonly accountId: string;
  readonly productId: string;
  /** The product's class; '' when it has none. */
  readonly productEligibilityKey: EligibilityClass | '';
  readonly description: string | null;
  readonly unitAmountCents: bigint;
  readonly recurringInterval: RecurringInterval | null;
  readonly recurringIntervalCount: number | null;
  readonly trialPeriodDays: number | null;
  readonly active: boolean;
  readonly lookupKey: string | null;
  /** As set on the price itself. */
  readonly hsaFsaEligibility: EligibilityClass | null;
  readonly metadata: Metadata;
  readonly createdAt: Date;
}

/** What a creation gives, beside the product. */
export interface PriceInput {
  readonly description: string | null;
  readonly unitAmountCents: bigint;
  readonly recurring: {
    readonly interval: string;
    readonly intervalCount: number;
    readonly trialPeriodDays: number | null;
  } | null;
  readonly active: boolean;
  readonly lookupKey: string | null;
  readonly hsaFsaEligibility: string | null;
  readonly metadata: Metadata;
}

/** A creation that was checked. */
export interface PriceFields extends Omit<PriceInput, 'recurring' | 'hsaFsaEligibility'> {
  readonly recurring: Recurring | null;
  readonly hsaFsaEligibility: EligibilityClass | null;
}

/** The fields that an update may give; a field left out stays as it is. */
export interface PriceChange {
  readonly active?: boolean;
  readonly description?: string | null;
  readonly lookupKey?: string | null;
  readonly hsaFsaEligibility?: string | null;
  readonly metadata?: Metadata;
}

/** What of a price may change. */
export type MutablePriceFields = Pick<Price, 'active' | 'description' | 'lookupKey' | 'hsaFsaEligibility' | 'metadata'>;

const clearablePriceFields = ['description', 'lookup_key', 'hsa_fsa_eligibility', 'metadata'] as const;

/** The price's own class or, where that is unset, its product's (PRICE-5). */
export function effectiveEligibility(price: Price): EligibilityClass | null {
  return price.hsaFsaEligibility ?? (price.productEligibilityKey === '' ? null : price.productEligibilityKey);
}

/** Checks what a creation gives. `loc` is where the price stands in the body. */
export function newPriceFields(input: PriceInput, loc: Loc): PriceFields {
  return {
    ...input,
    unitAmountCents: checkAmount(input.unitAmountCents, [...loc, 'unit_amount']),
    recurring: checkRecurring(input.recurring, [...loc, 'recurring']),
    lookupKey: checkLookupKey(input.lookupKey, [...loc, 'lookup_key']),
    hsaFsaEligibility: checkClass(input.hsaFsaEligibility, [...loc, 'hsa_fsa_eligibility']),
  };
}

/** What of a price may change, after an update. */
export function changedPriceFields(
  price: Price,
  change: PriceChange,
  clear: readonly string[],
  loc: Loc,
): MutablePriceFields {
  const cleared = checkClear(clear, clearablePriceFields, [...loc, 'clear']);
  const lookupKey = change.lookupKey ?? (cleared.has('lookup_key') ? null : price.lookupKey);
  const ownClass = cleared.has('hsa_fsa_eligibility') ? null : price.hsaFsaEligibility;
  // A fetched price shows its product's class; sent back unchanged, it keeps following the product.
  const isShown = ownClass === null && change.hsaFsaEligibility === effectiveEligibility(price);
  const eligibility = isShown ? null : (change.hsaFsaEligibility ?? ownClass);
  return {
    active: change.active ?? price.active,
    description: change.description ?? (cleared.has('description') ? null : price.description),
    lookupKey: checkLookupKey(lookupKey, [...loc, 'lookup_key']),
    hsaFsaEligibility: checkClass(eligibility, [...loc, 'hsa_fsa_eligibility']),
    metadata: change.metadata ?? (cleared.has('metadata') ? {} : price.metadata),
  };
}

const intervals: Record<string, RecurringInterval> = {
  day: 'day',
  week: 'week',
  month: 'month',
  year: 'year',
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  yearly: 'year',
};

function checkRecurring(recurring: PriceInput['recurring'], loc: Loc): Recurring | null {
  if (recurring === null) return null;
  const interval = Object.hasOwn(intervals, recurring.interval) ? intervals[recurring.interval] : undefined;
  if (interval === undefined)
    throw Failure.invalid([...loc, 'interval'], 'invalid_value', 'Must be day, week, month or year');
  const { intervalCount, trialPeriodDays } = recurring;
  if (intervalCount < 1) throw Failure.invalid([...loc, 'interval_count'], 'out_of_range', 'Must be at least 1');
  if (trialPeriodDays !== null && trialPeriodDays < 0) {
    throw Failure.invalid([...loc, 'trial_period_days'], 'out_of_range', 'Must not be negative');
  }
  return { interval, intervalCount, trialPeriodDays };
}

// An empty key is none.
function checkLookupKey(key: string | null, loc: Loc): string | null {
  if (key === null || key === '') return null;
  if ([...key].length > indexedTextLength) {
    throw Failure.invalid(loc, 'too_long', `Must have at most ${indexedTextLength} characters`);
  }
  return key;
}
