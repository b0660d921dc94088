/** Who said whether a card is a health card, the strongest first. */
export const kindSources = ['processor', 'issuer_range', 'partner', 'shopper'] as const;

export type KindSource = (typeof kindSources)[number];

/** Whether a card is a health card, and who said so; both null while that is not known. */
export type HsaFsa =
  | { readonly hsaFsa: boolean; readonly hsaFsaSource: KindSource }
  | { readonly hsaFsa: null; readonly hsaFsaSource: null };

/** Where the shopper put a card on the checkout page: "HSA or FSA card", or "Other card". */
export const cardSlots = ['health', 'other'] as const;

export type CardSlot = (typeof cardSlots)[number];

export function isCardSlot(text: string): text is CardSlot {
  return (cardSlots as readonly string[]).includes(text);
}

/** What a card may pay. `health`: eligible amounts only; `other`: everything; `unknown`: eligible amounts only, until someone says what it is. */
export type CardKind = 'health' | 'other' | 'unknown';

/**
 * What a card is for one payment. A card that is a health card by any source or by its slot is one: where two disagree, nothing ineligible is
 * charged to it. A shopper's slot decides only what is not known otherwise.
 */
export function kindOfCard(hsaFsa: boolean | null, slot: CardSlot | undefined): CardKind {
  if (hsaFsa === true || slot === 'health') return 'health';
  return hsaFsa === false || slot === 'other' ? 'other' : 'unknown';
}

/** Whether `source` may change what an earlier source said: a stronger one, or the same one again. */
export function mayCorrect(earlier: KindSource | null, source: KindSource): boolean {
  return earlier === null || kindSources.indexOf(source) <= kindSources.indexOf(earlier);
}
