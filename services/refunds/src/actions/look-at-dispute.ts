import { type Scope, withTx } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Look } from '../domain/look.ts';
import { pauseWhileNotConfiguredMs } from '../domain/pauses.ts';
import { accountOfDispute, claimDispute } from '../store/disputes.ts';
import { recordDispute } from './record-dispute.ts';

/**
 * Fetches a dispute of the processor and records it. One process at a time looks at a dispute, so that an older state does not overwrite a newer one.
 * A dispute that is new to us is at the account that its event happened on; of an event without one, at the account that new money goes to.
 */
export async function lookAtDispute(
  context: Context,
  scope: Scope,
  processor: string,
  processorDisputeId: string,
  ofEvent: string | null = null,
): Promise<Look> {
  const { database, budgets } = context;
  const account =
    (await accountOfDispute(database, scope, processor, processorDisputeId)) ?? accountOfEvent(processor, ofEvent);
  const port = context.processors.findAt(scope, account ?? null);
  if (port === undefined) return { kind: 'later', inMs: pauseWhileNotConfiguredMs };
  if (port.name !== processor) return { kind: 'not_ours' };
  if (port.isDown()) return { kind: 'later' };
  const claimed = await withTx(database, scope, (tx) =>
    claimDispute(tx, scope, port.account, processorDisputeId, budgets.leaseMs),
  );
  if (claimed === undefined) return { kind: 'later', inMs: pauseWhileLookedAtMs };
  await context.failpoint('dispute.after_claim');
  const facts = await port.retrieveDispute(processorDisputeId, { timeoutMs: budgets.processorMs });
  return recordDispute(context, scope, claimed, facts);
}

function accountOfEvent(processor: string, account: string | null): ProcessorAccount | undefined {
  if (account === null || (processor !== 'sandbox' && processor !== 'stripe')) return undefined;
  return { processor, account };
}

const pauseWhileLookedAtMs = 1_000;
