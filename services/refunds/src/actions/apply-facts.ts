import type { Scope, Tx } from '@eligo/postgres';
import type { RefundOutcome } from '@eligo/processor';
import { type Cents, cents, newId, sumCents } from '@eligo/values';
import type { Refund, RefundItem, RefundReference } from '../domain/refund.ts';
import { type ItemStatus, itemStates, refundStatusOf } from '../domain/refund-states.ts';
import { book, insertBalanceTransaction, makeAvailable } from '../store/money.ts';
import { endReleasingItem, moveItem } from '../store/refund-items.ts';
import { saveRefund } from '../store/refunds.ts';
import { appendRefundEvent } from './refund-events.ts';

/** What the processor has of a refund. */
export type RefundFacts = Exclude<RefundOutcome, { kind: 'rejected' | 'not_now' | 'unknown' }>;

/** What a card's part becomes. */
export interface ItemMove {
  readonly status: ItemStatus;
  readonly endStatus?: 'failed' | 'canceled';
  readonly failureCode?: string | undefined;
  readonly reference?: RefundReference;
}

/** The move that the processor's facts ask for. A part that failed is first given back at checkout. */
export function moveOf(facts: RefundFacts): ItemMove {
  const { id, type, status } = facts.reference;
  // Until there is a number there is no reference to show.
  const known = id === undefined ? {} : { reference: { id, type: type ?? null, status: status ?? null } };
  switch (facts.kind) {
    case 'pending':
    case 'requires_action':
    case 'succeeded':
      return { status: facts.kind, ...known };
    case 'failed':
    case 'canceled':
      return { status: 'releasing', endStatus: facts.kind, failureCode: facts.failureReason, ...known };
  }
}

/**
 * Moves a card's part of a locked refund, and the refund with it; a move that its state does not allow is old news and changes nothing.
 * Answers the refund as it then is.
 */
export async function applyMove(
  tx: Tx,
  scope: Scope,
  refund: Refund,
  paymentIntentId: string,
  move: ItemMove,
  at: Date,
): Promise<Refund> {
  const item = refund.items.find((part) => part.paymentIntentId === paymentIntentId);
  if (item === undefined) throw new Error('A refund has no item for its attempt');
  // A part that stands where it stood may have got its reference since.
  const isNews = item.status === move.status && move.reference !== undefined && !isSame(item.reference, move.reference);
  if (!isNews && !itemStates.canMove(item.status, move.status)) return refund;
  if (!(await moveItem(tx, scope, refund.refundId, item, move))) throw new Error('An item of a locked refund changed');
  if (move.status === 'succeeded' && item.status !== 'succeeded') {
    await book(tx, scope, [causeOf(refund, item, 'refund_succeeded')], at);
  }
  const moved = replaceItem(refund, { ...item, ...move, endStatus: move.endStatus ?? item.endStatus });
  return saveMoved(tx, scope, refund, moved, at);
}

/** Ends an item that checkout has released: the money is not refunded, and the remaining balance is restored. */
export async function endFailedItem(
  tx: Tx,
  scope: Scope,
  refund: Refund,
  paymentIntentId: string,
  at: Date,
): Promise<Refund> {
  const item = refund.items.find((part) => part.paymentIntentId === paymentIntentId);
  const ended = await endReleasingItem(tx, scope, refund.refundId, paymentIntentId);
  if (item?.endStatus == null || ended === undefined) return refund;
  const failureBalanceTransactionId = newId('balance_transaction');
  await Promise.all([
    book(tx, scope, [causeOf(refund, item, ended.returned ? 'refund_returned' : 'refund_failed')], at),
    insertBalanceTransaction(tx, scope, {
      balanceTransactionId: failureBalanceTransactionId,
      type: 'refund_failure',
      amountCents: item.amountCents,
      status: 'available',
      sourceId: refund.refundId,
      checkoutSessionId: refund.checkoutSessionId,
      at,
    }),
  ]);
  const moved = replaceItem(refund, { ...item, status: item.endStatus });
  const failedCents = sumCents([refund.failedCents, item.amountCents]);
  return saveMoved(tx, scope, refund, { ...moved, failedCents, failureBalanceTransactionId }, at);
}

async function saveMoved(tx: Tx, scope: Scope, before: Refund, moved: Refund, at: Date): Promise<Refund> {
  const status = refundStatusOf(
    before.status,
    moved.items.map((item) => item.status),
  );
  const after = { ...moved, status, reference: moved.items[0]?.reference ?? moved.reference };
  if (isShownAlike(before, after)) return after;
  await saveRefund(tx, scope, before, after);
  const isDecided = status === 'succeeded' || status === 'failed' || status === 'canceled';
  if (isDecided) await makeAvailable(tx, scope, balanceTransactionsOf(after), at);
  await appendRefundEvent(tx, scope, 'refund.updated', after);
  return after;
}

// Those of its cards, or the one that a refund of an earlier release has for all of them.
function balanceTransactionsOf({ items, balanceTransactionId }: Refund): string[] {
  return [...new Set(items.map((item) => item.balanceTransactionId ?? balanceTransactionId))];
}

function replaceItem(refund: Refund, item: RefundItem): Refund {
  return {
    ...refund,
    items: refund.items.map((part) => (part.paymentIntentId === item.paymentIntentId ? item : part)),
  };
}

function isSame(one: RefundReference, other: RefundReference): boolean {
  return one.id === other.id && one.type === other.type && one.status === other.status;
}

// What only moves inside (a part that waits to be released) is nobody's news.
function isShownAlike(before: Refund, after: Refund): boolean {
  return (
    before.status === after.status &&
    before.failedCents === after.failedCents &&
    before.items.every((item, index) => isSame(item.reference, after.items[index]?.reference ?? item.reference))
  );
}

function causeOf(
  refund: Refund,
  item: RefundItem,
  kind: 'refund_succeeded' | 'refund_failed' | 'refund_returned',
): { kind: typeof kind; refundId: string; paymentIntentId: string; amountCents: Cents } {
  const { paymentIntentId, amountCents } = item;
  return { kind, refundId: refund.refundId, paymentIntentId, amountCents: cents(amountCents) };
}
