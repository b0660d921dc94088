import { Failure } from '@eligo/failures';
import { finishKeyOfAttempt, releaseKey, type Scope, unlinkAttempt, withTx } from '@eligo/postgres';
import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import { pauseWhileUnknownMs } from '../domain/pauses.ts';
import type { Refund, RequestedRefund } from '../domain/refund.ts';
import { postponeRequest, refuseRequest } from '../store/requested-refunds.ts';
import type { Refunds } from './context.ts';
import { makePending } from './make-pending.ts';
import { refusalAnswer } from './refund-answer.ts';
import type { KeyHold } from './request-refund.ts';
import { reserveRefund } from './reserve-refund.ts';

/**
 * Takes a requested refund through checkout, whoever drives it: the request itself, a retry of it, or the sweeper. Throws the refusal, which
 * is final and kept under the key; `lock_timeout`, after which nothing is left; or what made the outcome unknown, and then it is asked again.
 */
export async function carryOutRequest(
  refunds: Refunds,
  scope: Scope,
  requested: RequestedRefund & { readonly checks?: number; readonly epoch?: number },
  call: CallOptions,
  key?: KeyHold,
): Promise<{ refund: Refund; session: CheckoutSession | undefined }> {
  await refunds.failpoint('refund.after_request');
  const reservation = await reserveRefund(refunds, requested, call);
  switch (reservation.kind) {
    case 'reserved': {
      await refunds.failpoint('refund.after_reserve');
      const refund = await makePending(refunds, scope, requested, reservation.response);
      await refunds.failpoint('refund.after_pending');
      return { refund, session: reservation.response.session };
    }
    case 'refused':
      await refuse(refunds, scope, requested, reservation.failure);
      throw reservation.failure;
    case 'not_now':
      // A partner is told to ask again, and must find nothing begun when it does. What was claimed again may have been reserved the last time, and
      // what another service decided can wait: these are asked for under the same id until checkout has said.
      if (requested.operationId === null && requested.epoch === undefined)
        await forget(refunds, scope, requested, reservation.failure, key);
      else await postpone(refunds, scope, requested, key);
      throw reservation.failure;
    case 'unknown':
      await postpone(refunds, scope, requested, key);
      throw key === undefined
        ? reservation.error
        : new Failure('idempotency_key_in_use', { retryAfterSeconds: 1, cause: reservation.error });
  }
}

function refuse({ database }: Refunds, scope: Scope, { refundId }: RequestedRefund, failure: Failure): Promise<void> {
  return withTx(database, scope, async (tx) => {
    if (!(await refuseRequest(tx, scope, refundId, failure.code))) return;
    await finishKeyOfAttempt(tx, scope, refundId, refusalAnswer(failure));
  });
}

function forget(
  { database }: Refunds,
  scope: Scope,
  { refundId }: RequestedRefund,
  failure: Failure,
  key: KeyHold | undefined,
): Promise<void> {
  return withTx(database, scope, async (tx) => {
    await refuseRequest(tx, scope, refundId, failure.code);
    // The key begins anew with its next use.
    await unlinkAttempt(tx, scope, refundId);
    if (key !== undefined) await releaseKey(tx, scope, key.use, key.epoch + 1);
  });
}

function postpone(
  { database }: Refunds,
  scope: Scope,
  { refundId, checks = 0 }: RequestedRefund & { readonly checks?: number },
  key: KeyHold | undefined,
): Promise<void> {
  return withTx(database, scope, async (tx) => {
    await postponeRequest(tx, scope, refundId, pauseWhileUnknownMs(checks));
    if (key !== undefined) await releaseKey(tx, scope, key.use, key.epoch);
  });
}
