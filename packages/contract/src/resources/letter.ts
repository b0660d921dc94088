import type { Letter } from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

/** The states of a letter of medical necessity. */
export const letterStatuses = ['in_review', 'approved', 'denied', 'expired'] as const;

/** Who decided a letter. Events leave it out: they name no person. */
export const letterReviewerSchema = z.strictObject({ name: z.string(), license: z.string(), state: z.string() });

export const letterSchema = z.strictObject({
  letter_id: idOf('letter'),
  status: z.enum(letterStatuses),
  product: expandable('product').nullable(),
  customer: expandable('customer').nullable(),
  checkout_session: idOf('checkout_session'),
  url: answer.text,
  expires_at: answer.time,
  decided_at: answer.time.nullable(),
  test_mode: z.boolean(),
  created_at: answer.time,
  reviewer: letterReviewerSchema.nullable(),
});

export const letterReferences: References<Letter> = {
  product: { kind: 'product', ids: (letter) => [letter.productId] },
  customer: { kind: 'customer', ids: (letter) => [letter.customerId] },
};

export function renderLetter(letter: Letter, expansion: Expansion = noExpansion): z.infer<typeof letterSchema> {
  return {
    letter_id: letter.letterId,
    status: letter.status as (typeof letterStatuses)[number],
    product: expansion.of('product', letter.productId),
    customer: expansion.of('customer', letter.customerId),
    checkout_session: letter.checkoutSessionId,
    url: letter.url ?? null,
    expires_at: isoTime(letter.expiresAtMs),
    decided_at: letter.decidedAtMs === undefined ? null : isoTime(letter.decidedAtMs),
    test_mode: letter.testMode,
    created_at: isoTime(letter.createdAtMs),
    reviewer: renderReviewer(letter),
  };
}

export function renderReviewer({ reviewer }: Letter): z.infer<typeof letterReviewerSchema> | null {
  return reviewer === undefined ? null : { name: reviewer.name, license: reviewer.license, state: reviewer.state };
}
