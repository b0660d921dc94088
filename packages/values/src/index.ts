export { cardInWords } from './card-in-words.ts';
export { allocate, type Cents, cents, centsFromInt64, dollars, partOf, percentOf, sumCents } from './cents.ts';
export { maximumChargeCents, minimumChargeCents } from './charge-limits.ts';
export { type Clock, systemClock } from './clock.ts';
export {
  dateInWords,
  defaultTimeZone,
  timeInWords,
  timeZoneInWords,
  timeZoneNamed,
  zonedDateInWords,
} from './date-in-words.ts';
export { type DiscountedLine, type Discounting, isRestricted, takeDiscounts } from './discounts.ts';
export { eligibilityInWords } from './eligibility-in-words.ts';
export { escapedHtml } from './escaped-html.ts';
export { evidenceFileFields, type FileType, fileTypes, isFileType, mediaTypes } from './evidence-files.ts';
export { freeBytes } from './free-bytes.ts';
export { given, present } from './given.ts';
export { type IdKind, type IdSource, idBodies, idKindOf, idPrefixes, isId, newId, timeOfId } from './ids.ts';
export { linesOf } from './lines.ts';
export {
  type FirstPeriodTerms,
  firstPeriod,
  type Interval,
  periodAround,
  periodEnd,
  periodStart,
  type Rhythm,
} from './periods.ts';
export {
  isSameAccount,
  ownAccount,
  type ProcessorAccount,
  type ProcessorAccountRow,
  type ProcessorName,
  processorAccountOfRow,
} from './processor-account.ts';
export { shippingCountriesOf } from './shipping-countries.ts';
export { IllegalMove, type StateTable, stateTable } from './states.ts';
export { within } from './within.ts';
