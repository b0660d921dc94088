import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { CallOptions } from '@eligo/rpc';
import type { Context } from '../context.ts';
import type { Dispute } from '../domain/dispute.ts';
import { findDisputeAtProcessor } from '../store/disputes.ts';
import { lookAtDispute } from './look-at-dispute.ts';

/** A dispute that the sandbox's bank is to open. */
export interface TestDispute {
  readonly chargeId: string;
  readonly amountCents: number | undefined;
  readonly reason: string | undefined;
  readonly inquiry: boolean;
}

/** Lets the sandbox's bank dispute a charge, and answers the dispute as it is then recorded. Test mode only. */
export async function createTestDispute(
  context: Context,
  scope: Scope,
  { chargeId, ...dispute }: TestDispute,
  call: CallOptions,
): Promise<Dispute> {
  if (!scope.testMode) throw new Failure('test_mode_required');
  const port = context.processors.of(scope);
  if (port.testBank === undefined) throw new Failure('test_mode_required');
  const { processorChargeId } = await context.checkout.getChargeAtProcessor({ id: chargeId }, call);
  if (processorChargeId === undefined) throw new Failure('conflict');
  const opened = await port.testBank.disputeCharge({ chargeId: processorChargeId, ...dispute });
  if (opened.kind === 'rejected') throw new Failure('conflict');
  if (opened.kind !== 'found') throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  for (let look = 0; look < mostLooks; look++) {
    if (look > 0) await new Promise((resolve) => setTimeout(resolve, pauseBetweenLooksMs));
    await lookAtDispute(context, scope, port.name, opened.disputeId);
    const recorded = await findDisputeAtProcessor(context.database, scope, port.name, opened.disputeId);
    if (recorded !== undefined) return recorded;
  }
  throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

// The event of the processor may be handled by another process at this moment.
const mostLooks = 50;
const pauseBetweenLooksMs = 100;
