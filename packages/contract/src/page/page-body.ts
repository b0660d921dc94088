import { z } from 'zod';
import { limits } from '../limits.ts';

// What a shopper types, so each field is short. The whole body is screened for card numbers before.
const addressLine = z.string().trim().min(1).max(200);

/** What the checkout page sends to pay: the processor's identifiers of one or two cards, each with the slot that the shopper chose. */
export const pagePaymentSchema = z.strictObject({
  cards: z
    .array(
      z.strictObject({
        // Of a payment method that the processor's fields made: `pm_…`. Ready ones of the sandbox have an underscore and are no shopper's card.
        payment_method: z.string().regex(/^pm_[0-9A-Za-z]{8,64}$/, 'Not the identifier of a card'),
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
      state: z.string().trim().min(1).max(limits.shortTextLength),
      postal_code: z.string().trim().min(1).max(20),
      country: z.string().regex(/^[A-Z]{2}$/, 'Must be a country code of two letters'),
    })
    .optional(),
  terms_accepted: z.boolean().optional(),
});

/** A checked payment of the page. */
export type PagePayment = z.infer<typeof pagePaymentSchema>;
