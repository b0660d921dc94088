import type { Scope, Tx } from '@eligo/postgres';
import type { IssueRefundReceipt } from '@eligo/proto/events/v1/events';
import { centsFromInt64, newId, timeOfId } from '@eligo/values';
import type { Receipt, RefundReceiptContent } from '../domain/receipt.ts';
import { lockReceipts } from '../store/erased-sessions.ts';
import { lastRefundedCents, refundReceiptsSince } from '../store/receipts.ts';
import { findTimeZone } from '../store/time-zones.ts';
import { keepReceipt, keptCard } from './keep-receipt.ts';

/**
 * Issues the receipt of a refund and has it mailed; once for each amount that stands, however often the command arrives. A refund of which a bank returned
 * money gets another receipt, which corrects the one before. One that never went through gets none, and neither does one that was made before the
 * installation issued receipts of refunds: the stream keeps its events for 30 days, and nobody expects a mail about it.
 */
export async function issueRefundReceipt(tx: Tx, scope: Scope, command: IssueRefundReceipt): Promise<void> {
  const { session, refundId } = command;
  if (session === undefined) throw new Error('The command has no session');
  const since = await refundReceiptsSince(tx);
  // By the wall clock, as the installation is; the times of the refund may be those of a test clock.
  const madeAt = timeOfId('refund', refundId);
  if (since !== undefined && madeAt !== undefined && madeAt < since) return;
  const amountCents = centsFromInt64(command.amountCents);
  // Two amounts of one refund at once are issued one after the other: each corrects the one before.
  await lockReceipts(tx, scope, [session.checkoutSessionId]);
  const earlierCents = (await lastRefundedCents(tx, scope, refundId)) ?? null;
  if (earlierCents === null ? amountCents === 0 : amountCents >= earlierCents) return;
  const createdAt = new Date(Number(command.atMs));
  const receipt: Receipt = {
    id: newId('receipt'),
    checkoutSessionId: session.checkoutSessionId,
    subscriptionId: session.subscriptionId ?? null,
    refundId,
    email: command.email === '' ? null : command.email,
    amountCents,
    content: contentOf(command, {
      earlierCents,
      orderReference: session.clientReferenceId,
      testMode: session.testMode,
      timeZone: await findTimeZone(tx, scope),
    }),
    createdAt,
  };
  await keepReceipt(tx, scope, receipt);
}

function contentOf(
  command: IssueRefundReceipt,
  of: Pick<RefundReceiptContent, 'earlierCents' | 'testMode'> & {
    readonly orderReference: string | undefined;
    readonly timeZone: string;
  },
): RefundReceiptContent {
  const { cards, items, merchantName, refundId, shopperName = null } = command;
  return {
    ...{ merchantName, shopperName, refundId, timeZone: of.timeZone },
    purchasedAt: new Date(Number(command.purchasedAtMs)).toISOString(),
    refundedAt: new Date(Number(command.atMs)).toISOString(),
    orderReference: of.orderReference ?? null,
    refundedItems: items.map(({ description = 'Item', eligibility = null, amountCents, paymentIntentId }) => ({
      ...{ description, eligibility, amountCents: Number(amountCents) },
      returnedTo: cards.findIndex((card) => card.paymentIntentId === paymentIntentId),
    })),
    refundedCards: cards.map(keptCard),
    amountCents: Number(command.amountCents),
    ...{ earlierCents: of.earlierCents, testMode: of.testMode },
  };
}
