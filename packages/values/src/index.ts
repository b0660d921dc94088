export { allocate, type Cents, cents, centsFromInt64, percentOf, sumCents } from './cents.ts';
export { type Clock, systemClock } from './clock.ts';
export { type DiscountedLine, type Discounting, isRestricted, takeDiscounts } from './discounts.ts';
export { given, present } from './given.ts';
export { type IdKind, type IdSource, idBodies, idKindOf, idPrefixes, isId, newId, timeOfId } from './ids.ts';
export { type FirstPeriodTerms, firstPeriod, type Interval, periodEnd, periodStart, type Rhythm } from './periods.ts';
export { IllegalMove, type StateTable, stateTable } from './states.ts';
