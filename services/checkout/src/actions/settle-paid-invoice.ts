import { encodeEvent } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { isConfirmationToken } from '../domain/payment-method.ts';
import { chargeEvent, intentEvent, newCharge } from './payment-events.ts';

/**
 * Records that a charge of an invoice took its money, from the intent that its claim has written, in one transaction that it shares with others: attempt, intent,
 * charge, ledger entry, events. Undefined, with nothing written, for one that comes alone, that is settled already, or whose card is typed on a page.
 */
export async function settlePaidInvoice(
  context: Pick<Context, 'groups'>,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Extract<ProcessorVerdict, { kind: 'succeeded' }>,
  begun: PaymentIntent,
): Promise<
  { readonly attempt: ChargeAttempt; readonly intent: PaymentIntent; readonly session: undefined } | undefined
> {
  const isWhole = !verdict.capturable && verdict.partCents === undefined;
  if (!isWhole || isConfirmationToken(attempt.processorPaymentMethodId)) return undefined;
  const at = attempt.actingAt;
  const charge = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent: PaymentIntent = {
    ...begun,
    status: 'succeeded',
    amountReceivedCents: begun.amountCents,
    latestChargeId: charge.chargeId,
    processorIntentId: attempt.processorIntentId,
  };
  const events = [
    encodeEvent(chargeEvent(scope, 'charge.succeeded', newCharge(intent, charge.chargeId, at), at)),
    encodeEvent(intentEvent(scope, 'payment_intent.succeeded', intent, at)),
  ];
  const isWritten = await context.groups.invoiceSettlements.submit(scope, {
    ...{ attempt, intent, charge, events, ledgerEntryId: newId('ledger_transaction') },
  });
  return isWritten ? { attempt: { ...attempt, status: 'succeeded' }, intent, session: undefined } : undefined;
}
