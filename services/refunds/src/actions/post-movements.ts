import { movementKindOf, postingsOfMovement } from '@eligo/ledger';
import { type Database, type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import { insertPending, type NewBalanceRow, type Settlement, settleBalance } from '../store/balance-transactions.ts';
import { type LedgerTransaction, postTransactions } from '../store/ledger.ts';
import { capturesOf, disputeMovementsOf, type MovementRecord, refundsOf } from '../store/movement-records.ts';
import { type FoundPayout, keyOfPayout, recordPayouts } from '../store/payouts.ts';
import {
  lockUnpostedMovements,
  markMovementsPosted,
  putOffMovements,
  type UnpostedMovement,
} from '../store/processor-transactions.ts';

// A transaction of some ten milliseconds.
const page = 100;
/** Our record gets the processor's name of its object with the answer of a call, and its entry is told by an event: an hour is longer than both take. */
const recordIsLateForMs = 3_600_000;

/**
 * Posts a page of movements on the balance, each once, and settles the balance transactions that they explain. A movement whose record is not here yet
 * waits for an hour; then it goes against suspense. Returns true if there may be more.
 */
export function postMovements({ database }: { readonly database: Database }, scope: Scope): Promise<boolean> {
  return withTx(database, scope, async (tx) => {
    const movements = await lockUnpostedMovements(tx, scope, page);
    const records = await recordsOf(tx, scope, movements);
    const matched = movements.map((movement) => ({ movement, record: takeRecord(records, movement) }));
    const isReady = ({ movement, record }: Match) =>
      record?.balanceTransactionId != null || !hasRecord(movement) || movement.ageMs > recordIsLateForMs;
    const payouts = await recordPayouts(tx, scope, movements.flatMap(payoutOf));
    const ready = matched.filter(isReady).map((match) => posted(match, payouts));
    await insertPending(
      tx,
      scope,
      ready.flatMap(({ row }) => row ?? []),
    );
    await postTransactions(
      tx,
      scope,
      ready.map(({ transaction }) => transaction),
    );
    await settleBalance(
      tx,
      scope,
      ready.map(({ settlement }) => settlement),
    );
    await markMovementsPosted(
      tx,
      scope,
      ready.map(({ movement }) => movement),
    );
    const waiting = matched.filter((match) => !isReady(match));
    await putOffMovements(
      tx,
      scope,
      waiting.map(({ movement }) => movement),
    );
    return movements.length === page;
  });
}

// The payout of a movement is looked at, and again when it comes back.
function payoutOf(movement: UnpostedMovement): FoundPayout[] {
  const { processorAccount, sourceId, amountCents, createdAt } = movement;
  if (movementKindOf(movement) !== 'payout' || sourceId === null || amountCents === 0) return [];
  const sign = movement.type === 'payout' ? -1 : 1;
  return [{ processorAccount, processorPayoutId: sourceId, amountCents: cents(sign * amountCents), at: createdAt }];
}

interface Match {
  readonly movement: UnpostedMovement;
  readonly record: MovementRecord | undefined;
}

function hasRecord(movement: UnpostedMovement): boolean {
  return ['charge', 'refund', 'dispute'].includes(movementKindOf(movement));
}

async function recordsOf(tx: Tx, scope: Scope, movements: readonly UnpostedMovement[]): Promise<MovementRecord[]> {
  const sources = (kind: string) => [
    ...new Set(movements.flatMap((one) => (movementKindOf(one) === kind && one.sourceId ? [one.sourceId] : []))),
  ];
  const found = await Promise.all([
    capturesOf(tx, scope, sources('charge')),
    refundsOf(tx, scope, sources('refund')),
    disputeMovementsOf(tx, scope, sources('dispute')),
  ]);
  return found.flat();
}

// The record of this amount that nothing has settled: a charge that was captured in parts has several. Each is taken once. After an hour any record of
// the object explains the movement; that its amount differs is then found by the ledger check.
function takeRecord(records: MovementRecord[], movement: UnpostedMovement): MovementRecord | undefined {
  const isOfObject = ({ processorObjectId, processorTransactionId }: MovementRecord) =>
    processorObjectId === movement.sourceId &&
    (processorTransactionId === null || processorTransactionId === movement.processorTransactionId);
  const exact = records.findIndex(
    (record) => isOfObject(record) && !record.isSettled && record.amountCents === movement.amountCents,
  );
  if (exact >= 0) return takeAt(records, exact);
  return movement.ageMs > recordIsLateForMs ? records.find(isOfObject) : undefined;
}

// Equal parts of a refund that fail find each other's failure: the one that a card takes is no other card's. Cards of a refund of an earlier release share the
// balance transaction of its negative amounts.
function takeAt(records: MovementRecord[], at: number): MovementRecord | undefined {
  const [taken] = records.splice(at, 1);
  const { balanceTransactionId = null, amountCents = null } = taken ?? {};
  if (balanceTransactionId === null || amountCents === null || amountCents < 0) return taken;
  const others = records.filter((record) => record.balanceTransactionId !== balanceTransactionId);
  records.splice(0, records.length, ...others);
  return taken;
}

function posted(
  { movement, record }: Match,
  payouts: ReadonlyMap<string, string>,
): {
  movement: UnpostedMovement;
  transaction: LedgerTransaction;
  settlement: Settlement;
  row: NewBalanceRow | undefined;
} {
  const kind = movementKindOf(movement);
  const { processorAccount, processorTransactionId, amountCents, feeCents, netCents, availableOn, createdAt } =
    movement;
  const balanceTransactionId = record?.balanceTransactionId ?? newId('balance_transaction');
  const payoutId = payouts.get(keyOfPayout({ processorAccount, processorPayoutId: movement.sourceId ?? '' }));
  const sourceId = record?.sourceId ?? payoutId ?? null;
  const row: NewBalanceRow = {
    ...{ balanceTransactionId, amountCents, reportingCategory: movement.reportingCategory, at: createdAt },
    type: shownType(movement),
    sourceId: sourceId ?? movement.sourceId ?? processorTransactionId,
    checkoutSessionId: null,
  };
  return {
    movement,
    transaction: {
      ...{ kind, processorAccount, amountCents, balanceTransactionId, processorChargeId: null },
      transactionId: newId('ledger_transaction'),
      cause: { processorTransactionId, feeCents, netCents },
      sourceId,
      paymentIntentId: record?.paymentIntentId ?? null,
      occurredAt: createdAt,
      postings: postingsOfMovement(movement, record !== undefined),
    },
    settlement: { balanceTransactionId, processorAccount, processorTransactionId, amountCents, feeCents, availableOn },
    // One that a record made is there already.
    row: record?.balanceTransactionId == null ? row : undefined,
  };
}

// A type that the list of balance transactions does not name is `other`; its category still says what it is.
function shownType({ type, reportingCategory, amountCents }: UnpostedMovement): string {
  switch (movementKindOf({ type, reportingCategory })) {
    case 'charge':
      return amountCents > 0 ? 'charge' : 'other';
    case 'refund':
      return amountCents < 0 ? 'refund' : amountCents > 0 ? 'refund_failure' : 'other';
    case 'dispute':
      return amountCents < 0 ? 'dispute' : amountCents > 0 ? 'dispute_reversal' : 'other';
    case 'payout':
      return type === 'payout' ? 'payout' : 'payout_failure';
    case 'application_fee':
      return 'application_fee';
    case 'other':
      return type === 'adjustment' || type === 'stripe_fee' ? type : 'other';
  }
}
