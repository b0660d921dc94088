/** How an account substantiates what HSA and FSA cards pay: by its merchant category, by its share of such sales, or item by item. */
export const substantiations = ['medical_mcc', 'ninety_percent', 'iias'] as const;

export type Substantiation = (typeof substantiations)[number];

/** What an operator says of an account; null: it does not take HSA and FSA cards in live mode. */
export interface SubstantiationStatement {
  readonly substantiation: Substantiation | null;
  /** Who says so. */
  readonly setBy: string;
}

export function isSubstantiation(text: string): text is Substantiation {
  return (substantiations as readonly string[]).includes(text);
}
