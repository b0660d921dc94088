import { create } from '@bufbuild/protobuf';
import {
  ReconciledAccountSchema,
  ReconciledActivitySchema,
  type ReconciledMovement,
  ReconciledMovementSchema,
} from '@eligo/proto/refunds/v1/refunds';
import { present } from '@eligo/values';
import type { AccountOfDay, DayActivity, NamedMovement } from '../domain/reconciliation.ts';

/** An account of the ledger over a day of the report. */
export function accountMessage({ processorAccount, ...account }: AccountOfDay) {
  return create(ReconciledAccountSchema, {
    processor: processorAccount.processor,
    processorAccount: processorAccount.account,
    ledgerAccount: account.ledgerAccount,
    openingCents: BigInt(account.openingCents),
    changeCents: BigInt(account.changeCents),
    closingCents: BigInt(account.closingCents),
  });
}

/** The transactions of a day with one cause and type. */
export function activityMessage({ processorAccount, ...activity }: DayActivity) {
  return create(ReconciledActivitySchema, {
    cause: activity.cause,
    processor: processorAccount.processor,
    processorAccount: processorAccount.account,
    type: activity.type,
    reportingCategory: activity.reportingCategory,
    transactions: BigInt(activity.transactions),
    amountCents: BigInt(activity.amountCents),
    feeCents: BigInt(activity.feeCents),
    netCents: BigInt(activity.netCents),
  });
}

/** A payout, or a movement in suspense. */
export function movementMessage(movement: NamedMovement): ReconciledMovement {
  return create(ReconciledMovementSchema, {
    processor: movement.processor,
    processorAccount: movement.processorAccount,
    processorTransactionId: movement.processorTransactionId,
    balanceTransactionId: movement.balanceTransactionId,
    type: movement.type,
    amountCents: BigInt(movement.amountCents),
    feeCents: BigInt(movement.feeCents),
    netCents: BigInt(movement.netCents),
    suspenseCents: BigInt(movement.suspenseCents),
    createdAtMs: BigInt(movement.createdAt.getTime()),
    ...present({ payoutId: movement.payoutId, payoutStatus: movement.payoutStatus }),
  });
}
