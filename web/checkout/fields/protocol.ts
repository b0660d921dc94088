// What the page and the frame with the card fields say to each other. Each side takes messages from the other's origin and window alone.

/** From the page: make a payment method of what was typed, move the focus, show that the page is busy, or say in this language how high the fields are. */
export type ToFields =
  | { readonly to: 'card-fields'; readonly kind: 'tokenize'; readonly request: number }
  | { readonly to: 'card-fields'; readonly kind: 'focus' }
  | { readonly to: 'card-fields'; readonly kind: 'busy'; readonly busy: boolean }
  | { readonly to: 'card-fields'; readonly kind: 'show'; readonly language: 'en' | 'es' };

/** From the frame. It never says what was typed. */
export type FromFields =
  | { readonly from: 'card-fields'; readonly kind: 'ready' }
  | { readonly from: 'card-fields'; readonly kind: 'height'; readonly height: number }
  /** Something was typed: an earlier payment method is not what stands in the fields any more. */
  | { readonly from: 'card-fields'; readonly kind: 'changed'; readonly empty: boolean }
  /** Enter was pressed. */
  | { readonly from: 'card-fields'; readonly kind: 'submit' }
  | { readonly from: 'card-fields'; readonly kind: 'tokenized'; readonly request: number; readonly id: string }
  | { readonly from: 'card-fields'; readonly kind: 'refused'; readonly request: number; readonly reason: Refusal };

/** Why no payment method was made. The frame shows what is wrong with a field by itself. */
export type Refusal = 'incomplete' | 'declined' | 'unreachable';

/** From the frame of the sandbox's bank. It does not say how the shopper answered: the page asks the server. */
export type FromBank =
  | { readonly from: 'bank'; readonly kind: 'height'; readonly height: number }
  | { readonly from: 'bank'; readonly kind: 'answered' };
