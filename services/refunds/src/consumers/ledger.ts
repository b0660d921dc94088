import type { ConsumerDefinition } from '@eligo/events';
import type { JournalEntry as JournalEntryMessage } from '@eligo/proto/events/v1/events';
import { centsFromInt64, type ProcessorName } from '@eligo/values';
import { type JournalEntry, postJournal } from '../actions/post-journal.ts';

/** Posts what checkout journaled: money that was captured. */
export const ledger: ConsumerDefinition = {
  consumer: 'ledger',
  subscriptions: [{ from: 'checkout', types: ['command.journal'] }],
  async handle(tx, event) {
    if (event.object.case !== 'journalEntries') throw new Error('A journal event has no entries');
    const { accountId, testMode } = event;
    await postJournal(tx, { accountId, testMode }, event.object.value.entries.map(entryOf));
  },
};

function entryOf(message: JournalEntryMessage): JournalEntry {
  const { entryId, paymentIntentId, chargeId, balanceTransactionId } = message;
  if (message.kind !== 'capture') throw new Error(`A journal entry of kind ${message.kind} is not known`);
  return {
    ...{ entryId, paymentIntentId, kind: message.kind, sourceId: chargeId },
    amountCents: centsFromInt64(message.amountCents),
    processorAccount: { processor: processorNameOf(message.processor), account: message.processorAccount },
    processorChargeId: message.processorChargeId ?? null,
    balance: { balanceTransactionId, checkoutSessionId: message.checkoutSessionId ?? null },
    at: new Date(Number(message.atMs)),
  };
}

function processorNameOf(name: string): ProcessorName {
  if (name !== 'sandbox' && name !== 'stripe') throw new Error(`A processor of the name ${name} is not known`);
  return name;
}
