/**
 * What a look at an event's object came to: its state is recorded; no record of ours has it; or it could not be fetched, or is in other hands, and
 * is looked at again.
 */
export type Look =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'not_ours' }
  | { readonly kind: 'later'; readonly inMs?: number };
