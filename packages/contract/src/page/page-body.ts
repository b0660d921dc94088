import { z } from 'zod';
import { email } from '../fields.ts';
import { limits } from '../limits.ts';

// What a shopper types, so each field is short. The whole body is screened for card numbers before.
const addressLine = z.string().trim().min(1).max(200);

/** What the checkout page sends to pay: the processor's identifiers of one or two cards, each with the slot that the shopper chose. */
export const pagePaymentSchema = z.strictObject({
  cards: z
    .array(
      z.strictObject({
        // What the processor's fields made: a payment method, or a confirmation token. Ready ones of the sandbox have an underscore and are no
        // shopper's card.
        payment_method: z.string().regex(/^(?:pm|ctoken)_[0-9A-Za-z]{8,64}$/, 'Not the identifier of a card'),
        slot: z.enum(['health', 'other']),
      }),
    )
    .max(2)
    .refine(
      (cards) => new Set(cards.map(({ slot }) => slot)).size === cards.length,
      'Each card needs a slot of its own',
    ),
  shipping_details: z
    .strictObject({
      line1: addressLine,
      line2: z.string().trim().max(200).optional(),
      city: addressLine,
      // Not every country has them.
      state: z.string().trim().max(limits.shortTextLength),
      postal_code: z.string().trim().max(20),
      country: z.string().regex(/^[A-Z]{2}$/, 'Must be a country code of two letters'),
    })
    .optional(),
  /** Where the receipt is mailed, if the shop gave no address. */
  email: z.string().trim().min(1).pipe(email).optional(),
  terms_accepted: z.boolean().optional(),
  /** The `split_version` of the amounts that the shopper saw. */
  shown_split: z.string().max(limits.shortTextLength).optional(),
});

/** What a body of the page is checked by. */
export type PageSchema<Body> = z.ZodType<Body>;

/** A checked payment of the page. */
export type PagePayment = z.infer<typeof pagePaymentSchema>;

/** What the page sends when an authentication is over, or when the shopper wants to use another card. */
export const pageAuthenticationSchema = z.strictObject({ give_up: z.boolean().optional() });

/** What the page sends to enter a promo code, or with null to remove the one that was entered. */
export const pagePromoCodeSchema = z.strictObject({
  code: z.string().trim().min(1).max(limits.shortTextLength).nullable(),
});

const answer = z.string().trim().min(1).max(2_000);

/** What the shopper answers for a letter of medical necessity. It is sealed for the reviewer, and read by nobody else. */
export const pageLetterSchema = z.strictObject({
  /** What the items are for. */
  condition: answer,
  /** How they help with it. */
  reason: answer,
  /** Who treats it. */
  provider: z.string().trim().max(200).optional(),
  /** The shopper says that this is true, and lets the reviewer read it. */
  consent: z.literal(true),
});

/** Checked answers. */
export type PageLetter = z.infer<typeof pageLetterSchema>;
