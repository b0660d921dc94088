import { create } from '@bufbuild/protobuf';
import { type JournalEntry, JournalEntrySchema } from '@eligo/proto/events/v1/events';
import { type Cents, type ProcessorAccount, present } from '@eligo/values';

/** A capture as the ledger is told of it. */
export interface JournaledCapture {
  readonly entryId: string;
  readonly amountCents: Cents;
  readonly paymentIntentId: string;
  readonly sourceId: string;
  readonly chargeId: string;
  readonly checkoutSessionId: string | null;
  readonly processorChargeId: string | null;
  readonly balanceTransactionId: string;
  readonly at: Date;
}

/** The message of a capture for the ledger. */
export function journalMessage(capture: JournaledCapture, { processor, account }: ProcessorAccount): JournalEntry {
  return create(JournalEntrySchema, {
    entryId: capture.entryId,
    kind: 'capture',
    amountCents: BigInt(capture.amountCents),
    paymentIntentId: capture.paymentIntentId,
    sourceId: capture.sourceId,
    chargeId: capture.chargeId,
    processor,
    processorAccount: account,
    balanceTransactionId: capture.balanceTransactionId,
    atMs: BigInt(capture.at.getTime()),
    ...present({ checkoutSessionId: capture.checkoutSessionId, processorChargeId: capture.processorChargeId }),
  });
}
