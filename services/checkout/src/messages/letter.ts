import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { type Letter as LetterMessage, LetterReviewerSchema, LetterSchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { Letter } from '../domain/letter.ts';

/** The message of a letter, as the answer of a call: with who decided it. Nothing that the shopper answered is in it. */
export function letterWithReviewer(scope: Scope, letter: Letter): LetterMessage {
  const message = letterMessage(scope, letter);
  if (letter.reviewer !== null) message.reviewer = create(LetterReviewerSchema, letter.reviewer);
  return message;
}

/** The message of a letter, as events carry it: without a name, and without what the shopper answered. */
export function letterMessage(scope: Scope, letter: Letter): LetterMessage {
  return create(LetterSchema, {
    letterId: letter.id,
    status: letter.status,
    productId: letter.productId,
    checkoutSessionId: letter.sessionId,
    // While it is in review, the end of the review; then, of an approved one, the end of its validity.
    expiresAtMs: BigInt((letter.validUntil ?? letter.reviewUntil).getTime()),
    testMode: scope.testMode,
    createdAtMs: BigInt(letter.createdAt.getTime()),
    ...present({ customerId: letter.customerId, url: letter.url }),
    ...(letter.decidedAt === null ? {} : { decidedAtMs: BigInt(letter.decidedAt.getTime()) }),
  });
}
