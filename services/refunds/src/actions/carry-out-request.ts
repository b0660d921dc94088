import type { Failure } from '@eligo/failures';
import { commitBehind, keyInUse, releaseKey, type Scope, unlinkAttempt, withTx } from '@eligo/postgres';
import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { pauseWhileUnknownMs } from '../domain/pauses.ts';
import type { Refund, RequestedRefund } from '../domain/refund.ts';
import { forgetRequest, postponeRequest, refuseRequest } from '../store/requested-refunds.ts';
import { makePending } from './make-pending.ts';
import { refusalAnswer } from './refund-answer.ts';
import type { KeyHold } from './request-refund.ts';
import { closeRefund, reserveRefund } from './reserve-refund.ts';

/** A request in hand: with its epoch and the checks so far when it was claimed again, and did not begin with this call. */
type Held = RequestedRefund & { readonly checks?: number; readonly epoch?: number };

/**
 * Takes a requested refund through checkout, in the process of the request, of a retry or of the sweeper. Throws the refusal, which
 * is final and kept under the key; `lock_timeout`, after which nothing is left; or what made the outcome unknown, and then it is asked again.
 */
export async function carryOutRequest(
  context: Context,
  scope: Scope,
  requested: Held,
  call: CallOptions,
  key?: KeyHold,
): Promise<{ refund: Refund; session: CheckoutSession | undefined }> {
  await context.failpoint('refund.after_request');
  let reservation = await reserveRefund(context, requested, call);
  // Claimed again: what was asked for the last time may still be on its way to checkout.
  const isClaimedAgain = requested.epoch !== undefined;
  if (reservation.kind === 'refused' && isClaimedAgain)
    reservation = await closeRefund(context, requested, call, reservation.failure);
  switch (reservation.kind) {
    case 'reserved': {
      await context.failpoint('refund.after_reserve');
      const refund = await makePending(context, scope, requested, reservation.response);
      await context.failpoint('refund.after_pending');
      return { refund, session: reservation.response.session };
    }
    case 'refused':
      if (!(await refuse(context, scope, requested, reservation.failure))) throw keyInUse();
      throw reservation.failure;
    case 'not_now':
      // The partner is asked to retry, and the retry must start over. What was claimed again may have been reserved the last time, and
      // what another service decided can wait: these are asked for under the same id until checkout has said.
      if (requested.operationId !== null || isClaimedAgain) await postpone(context, scope, requested, key);
      else if (!(await forget(context, scope, requested, reservation.failure, key))) throw keyInUse();
      throw reservation.failure;
    case 'unknown':
      await postpone(context, scope, requested, key);
      throw key === undefined ? reservation.error : keyInUse(reservation.error);
  }
}

// False: this took so long that another has claimed the request, and what becomes of it is not for us to say.
function refuse({ database }: Context, scope: Scope, requested: Held, failure: Failure): Promise<boolean> {
  const { refundId } = requested;
  const refusal = { refundId, epoch: epochOf(requested), code: failure.code, answer: refusalAnswer(failure) };
  return withTx(database, scope, (tx) => {
    const refused = refuseRequest(tx, scope, refusal);
    commitBehind(tx);
    return refused;
  });
}

function forget(
  { database }: Context,
  scope: Scope,
  requested: Held,
  failure: Failure,
  key: KeyHold | undefined,
): Promise<boolean> {
  const { refundId } = requested;
  return withTx(database, scope, async (tx) => {
    if (!(await forgetRequest(tx, scope, refundId, epochOf(requested), failure.code))) return false;
    // The key begins anew with its next use.
    await unlinkAttempt(tx, scope, refundId);
    if (key !== undefined) await releaseKey(tx, scope, key.use, key.epoch + 1);
    return true;
  });
}

function postpone({ database }: Context, scope: Scope, requested: Held, key: KeyHold | undefined): Promise<void> {
  const { refundId, checks = 0 } = requested;
  return withTx(database, scope, async (tx) => {
    await Promise.all([
      key === undefined ? undefined : releaseKey(tx, scope, key.use, key.epoch),
      postponeRequest(tx, scope, refundId, epochOf(requested), pauseWhileUnknownMs(checks)),
    ]);
  });
}

// Whoever writes a request down holds it under the first epoch. A refusal that comes late must not end what another has claimed since.
function epochOf({ epoch = 1 }: Held): number {
  return epoch;
}
