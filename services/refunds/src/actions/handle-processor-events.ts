import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Look } from '../domain/look.ts';
import { pauseWhileUnknownMs } from '../domain/pauses.ts';
import { claimEventsOf, postponeEvents, settleEvents, type WaitingEvent } from '../store/processor-events.ts';
import { lookAtDispute } from './look-at-dispute.ts';
import { lookAtRefund } from './look-at-refund.ts';

/**
 * Fetches the state of an object of which the processor has sent events, and records it. What the events say is not used: one that comes twice, late or
 * out of order leads to the same. An event that comes before our record waits for it; after an hour its object is not ours, and it is dropped.
 */
export async function handleProcessorEvents(context: Context, scope: Scope, objectId: string): Promise<void> {
  const { database, budgets } = context;
  const events = await withTx(database, scope, (tx) => claimEventsOf(tx, scope, objectId, budgets.leaseMs));
  const [first] = events;
  if (first === undefined) return;
  await context.failpoint('event.after_claim');
  const account = events.find(({ processorAccount }) => processorAccount !== null)?.processorAccount ?? null;
  const look = await lookAt(context, scope, objectId, { ...first, processorAccount: account });
  await context.failpoint('event.after_record');
  const pauseMs = look.kind === 'later' ? look.inMs : undefined;
  if (look.kind === 'recorded') return withTx(database, scope, (tx) => settleEvents(tx, scope, events, 'handled'));
  const oldestMs = Math.max(...events.map(({ waitedMs }) => waitedMs));
  if (oldestMs < (look.kind === 'not_ours' ? longestWaitForRecordMs : longestWaitForProcessorMs)) {
    const checks = Math.min(...events.map((event) => event.checks));
    return withTx(database, scope, (tx) =>
      postponeEvents(tx, scope, events, pauseMs ?? pauseWhileUnknownMs(checks - 1)),
    );
  }
  context.logger.warn(
    { processor: first.processor, type: first.type, objectId },
    look.kind === 'not_ours'
      ? 'Dropped events of a processor object that Eligo did not make'
      : 'Dropped events of a processor object that could not be fetched for three days',
  );
  await withTx(database, scope, (tx) => settleEvents(tx, scope, events, 'dropped'));
}

// Our record is written before the call that makes the object, and gets the object's id with the answer: an unknown answer is found out within minutes.
const longestWaitForRecordMs = 3_600_000;
const longestWaitForProcessorMs = 3 * 86_400_000;

function lookAt(context: Context, scope: Scope, objectId: string, event: WaitingEvent): Promise<Look> {
  const { processor, processorAccount, type } = event;
  return type.startsWith('charge.dispute.')
    ? lookAtDispute(context, scope, processor, objectId, processorAccount)
    : lookAtRefund(context, scope, processor, objectId);
}
