import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Failure, type FailureCode, isFailureCode, type Violation } from '@eligo/failures';
import type { StoredAnswer } from '@eligo/postgres';
import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import { type RefundSessionResponse, RefundSessionResponseSchema } from '@eligo/proto/refunds/v1/refunds';
import type { Refund } from '../domain/refund.ts';
import { refundMessage } from '../messages/refund.ts';

/** The answer to a refund that was asked for, kept under its Idempotency-Key byte by byte. */
export function answerOf(refund: Refund, session: CheckoutSession | undefined): StoredAnswer {
  const message = create(RefundSessionResponseSchema, {
    refund: refundMessage(refund),
    ...(session === undefined ? {} : { session }),
  });
  return { status: 200, body: Buffer.from(toBinary(RefundSessionResponseSchema, message)) };
}

/** The answer to one that was refused for good. */
export function refusalAnswer({ code, detail, status, declineCode, violations }: Failure): StoredAnswer {
  return { status, body: Buffer.from(JSON.stringify({ code, detail, declineCode, violations })) };
}

/** A kept answer, given again: the message, or the same refusal thrown. */
export function replay(answer: StoredAnswer): RefundSessionResponse {
  if (answer.status === 200) return fromBinary(RefundSessionResponseSchema, answer.body);
  const { code, ...rest } = JSON.parse(answer.body.toString('utf8')) as {
    code: string;
    detail: string;
    declineCode?: string;
    violations?: Violation[];
  };
  throw new Failure(knownCode(code), rest);
}

/** A code that was stored, by a release that may have known others. */
export function knownCode(code: string): FailureCode {
  return isFailureCode(code) ? code : 'conflict';
}
