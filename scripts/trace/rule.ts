/** One rule of the specification: the words that state it, and where it is declared, held and tried. */
export interface Rule {
  /** Words of one sentence or one table row, exactly as they stand; several where one rule is stated by several rows. */
  readonly quote: string | readonly string[];
  /** Ids of routes (`prices.list`), and places below packages/contract/src (`query.ts#listQuery`). */
  readonly contract?: readonly string[];
  /** Every name that the quote shows as code is a field of this record's answer, but for `besides`. */
  readonly answers?: string;
  /** Every name that the quote shows as code is a field or value of this route's request, but for `besides`. */
  readonly asks?: string;
  readonly besides?: readonly string[];
  /** Exported names: `services/catalog/src/domain/price.ts#newPriceFields`. */
  readonly code?: readonly string[];
  /** Constraints, triggers, policies and indexes: `catalog.prices_immutable`. */
  readonly database?: readonly string[];
  readonly tests?: readonly TestName[];
  /** The words state no rule of these resources: why, or where it is held instead. */
  readonly aside?: string;
}

/** A test by its file and its title, or the template of its title. */
export interface TestName {
  readonly file: string;
  readonly title: string;
}

/** The rules of one section of a document in docs/spec, every word of which is quoted by one of them unless it is `partial`. */
export interface Section {
  readonly document: string;
  readonly heading: string;
  /** The section speaks of other resources too: only what the rules quote is traced. */
  readonly partial?: true;
  readonly rules: readonly Rule[];
}

/** The tests of a file, by their titles. */
export function testsIn(file: string) {
  return (...titles: string[]): TestName[] => titles.map((title) => ({ file, title }));
}

/** Exported names of a folder: `in('domain/price.ts#newPriceFields')`. */
export function placesIn(folder: string) {
  return (...places: string[]): string[] => places.map((place) => `${folder}/${place}`);
}

/** The quotes of a rule. */
export function quotesOf({ quote }: Rule): readonly string[] {
  return typeof quote === 'string' ? [quote] : quote;
}

/** Decisions by the heading that they stand under, among others. */
export function decisionsIn(heading: string, rules: readonly Rule[]): Section {
  return { document: 'decisions.md', heading, partial: true, rules };
}
