import { create, toBinary } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import {
  claimOrThrow,
  type KeyUse,
  keyInUse,
  linkAttempt,
  type Scope,
  type StoredAnswer,
  withTx,
} from '@eligo/postgres';
import { type Idempotency, type RefundInstruction, RefundInstructionSchema } from '@eligo/proto/checkout/v1/checkout';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { RefundSubject, RequestedRefund } from '../domain/refund.ts';
import { findRefund } from '../store/refunds.ts';
import { claimRequest, insertRequest, refusalOf } from '../store/requested-refunds.ts';
import { knownCode } from './refund-answer.ts';

/** A refund as a partner asks for it. */
export interface RefundRequest {
  readonly subject: RefundSubject;
  readonly instruction: RefundInstruction | undefined;
  readonly features: readonly string[];
  readonly reason: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly idempotency: Idempotency | undefined;
}

/** The hold on an Idempotency-Key while its request is carried out. */
export interface KeyHold {
  readonly use: KeyUse;
  readonly epoch: number;
}

/** What to do about a request: answer as before, go on with what an earlier one began, or carry out what is new. */
export type Requested =
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'begun_before'; readonly refundId: string; readonly key: KeyHold }
  | { readonly kind: 'to_reserve'; readonly refund: RequestedRefund; readonly key: KeyHold | undefined };

/**
 * Writes down that a refund is asked for, under the id that checkout will know it by, before anything else happens. Under a key that is in use
 * or was used for another session refund it is refused (decisions 1.1).
 */
export async function requestRefund(context: Context, scope: Scope, request: RefundRequest): Promise<Requested> {
  const { requests } = context.groups;
  const refund: RequestedRefund = {
    refundId: newId('refund'),
    subject: request.subject,
    instruction: toBinary(RefundInstructionSchema, request.instruction ?? create(RefundInstructionSchema)),
    features: request.features,
    operationId: null,
    reason: request.reason,
    metadata: request.metadata,
    subscriptionId: null,
    invoiceId: null,
  };
  const use = keyUse(request);
  const isWritten = await requests.submit(scope, { refund, use });
  if (use === undefined) return { kind: 'to_reserve', refund, key: undefined };
  return isWritten ? { kind: 'to_reserve', refund, key: { use, epoch: 1 } } : comeBack(context, scope, refund, use);
}

// The key has been used before: in the order of all that holds both, it is locked before its refund (docs/reliability.md, Refunds).
function comeBack(
  { database, budgets }: Context,
  scope: Scope,
  refund: RequestedRefund,
  use: KeyUse,
): Promise<Requested> {
  return withTx(database, scope, async (tx) => {
    const claim = await claimOrThrow(tx, scope, use, budgets.leaseMs);
    if (claim.outcome === 'finished') return { kind: 'answered', answer: claim.answer };
    const key = { use, epoch: claim.epoch };
    if (claim.attemptId === undefined) {
      await Promise.all([
        linkAttempt(tx, scope, use, refund.refundId),
        insertRequest(tx, scope, refund, budgets.leaseMs),
      ]);
      return { kind: 'to_reserve', refund, key };
    }
    const begun = await claimRequest(tx, scope, claim.attemptId, budgets.leaseMs);
    if (begun !== undefined) return { kind: 'to_reserve', refund: begun, key };
    const refusal = await refusalOf(tx, scope, claim.attemptId);
    if (refusal !== undefined) throw new Failure(knownCode(refusal));
    // The sweeper has it in hand: what becomes of it is not known yet.
    if ((await findRefund(tx, scope, claim.attemptId)) === undefined) {
      throw keyInUse();
    }
    return { kind: 'begun_before', refundId: claim.attemptId, key };
  });
}

// Strict where a session is refunded; elsewhere the same key with another body runs as new (decisions 1.1).
function keyUse({ subject, idempotency }: RefundRequest): KeyUse | undefined {
  if (idempotency === undefined) return undefined;
  const { key, requestHash } = idempotency;
  return {
    key,
    requestHash: Buffer.from(requestHash),
    ...(subject.kind === 'session'
      ? { endpoint: `POST /v1/checkout/sessions/${subject.sessionId}/refund`, otherRequest: 'refuse' }
      : { endpoint: 'POST /v1/refunds', otherRequest: 'run_as_new' }),
  };
}
