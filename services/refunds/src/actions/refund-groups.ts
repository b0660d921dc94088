import { wakeRelayAfterCommit } from '@eligo/events';
import {
  claimFreshKeys,
  commitBehind,
  type Database,
  type GroupedWrites,
  type KeyUse,
  openGroupedWrites,
  type Scope,
  type Tx,
  withTx,
} from '@eligo/postgres';
import type { Budgets } from '../budgets.ts';
import type { RequestedRefund } from '../domain/refund.ts';
import { type PendingWrite, writePending } from '../store/pending-refund.ts';
import { type ReceivedEvent, storeEvents } from '../store/processor-events.ts';
import { insertRequest, insertRequests, insertRequestUnderKey } from '../store/requested-refunds.ts';
import { type SettledWrite, writeSettled } from '../store/settled-refund.ts';

/** A request to be written down, under its key if it has one. */
export interface RequestWrite {
  readonly refund: RequestedRefund;
  readonly use: KeyUse | undefined;
}

/** The writes of refunds that are joined with others of the same kind, account and mode (ADR 20). */
export interface RefundGroups {
  /** False, with nothing written, when the key has been used before. */
  readonly requests: GroupedWrites<RequestWrite, boolean>;
  /** Answers the database's time; undefined, with nothing written, when the refund is no longer requested. */
  readonly pendings: GroupedWrites<PendingWrite, Date | undefined>;
  /** False, with nothing written, when the refund has changed since it was made pending. */
  readonly settlements: GroupedWrites<SettledWrite, boolean>;
  /** Events of the processor: true for each, also for one that is known already. */
  readonly events: GroupedWrites<ReceivedEvent, true>;
}

/** Opens the groups of one process. */
export function openRefundGroups(database: Database, { leaseMs }: Pick<Budgets, 'leaseMs'>): RefundGroups {
  const makePending = async (tx: Tx, scope: Scope, pending: readonly PendingWrite[]) => {
    const written = writePending(tx, scope, pending, leaseMs);
    commitBehind(tx);
    const made = await written;
    if (made.size > 0) wakeRelayAfterCommit(tx);
    return pending.map(({ refund }) => made.get(refund.refundId));
  };
  const settle = async (tx: Tx, scope: Scope, settled: readonly SettledWrite[]) => {
    const written = writeSettled(tx, scope, settled);
    commitBehind(tx);
    const done = await written;
    if (done.size > 0) wakeRelayAfterCommit(tx);
    return settled.map(({ refund }) => done.has(refund.refundId));
  };
  return {
    requests: openGroupedWrites<RequestWrite, boolean>({
      database,
      writeGroup: (tx, scope, requests) => writeRequests(tx, scope, requests, leaseMs),
      writeAlone: (scope, request) => withTx(database, scope, (tx) => writeRequest(tx, scope, request, leaseMs)),
    }),
    pendings: openGroupedWrites<PendingWrite, Date | undefined>({ database, writeGroup: makePending }),
    settlements: openGroupedWrites<SettledWrite, boolean>({
      database,
      writeGroup: settle,
      idOf: ({ attempt }) => attempt.attemptId,
    }),
    events: openGroupedWrites<ReceivedEvent, true>({ database, writeGroup: storeReceived }),
  };
}

async function storeReceived(tx: Tx, scope: Scope, events: readonly ReceivedEvent[]): Promise<true[]> {
  const stored = storeEvents(tx, scope, events);
  commitBehind(tx);
  await stored;
  return events.map(() => true);
}

// Undefined when a key has been used before: the group is rolled back.
async function writeRequests(
  tx: Tx,
  scope: Scope,
  requests: readonly RequestWrite[],
  leaseMs: number,
): Promise<boolean[] | undefined> {
  const keyed = requests.flatMap(({ use, refund }) => (use === undefined ? [] : [{ use, attemptId: refund.refundId }]));
  const refunds = requests.map(({ refund }) => refund);
  const [areFresh] = await Promise.all([
    keyed.length === 0 || claimFreshKeys(tx, scope, keyed, leaseMs),
    insertRequests(tx, scope, refunds, leaseMs),
  ]);
  return areFresh ? requests.map(() => true) : undefined;
}

// One statement: under a key, nothing is written unless the key is free.
function writeRequest(tx: Tx, scope: Scope, { refund, use }: RequestWrite, leaseMs: number): Promise<boolean> {
  const written =
    use === undefined
      ? insertRequest(tx, scope, refund, leaseMs)
      : insertRequestUnderKey(tx, scope, refund, use, leaseMs);
  commitBehind(tx);
  return written;
}
