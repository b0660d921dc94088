import { appendEncoded, encodeEvent } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';
import type { ChargeBudgets } from '../charge-budgets.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { InvoiceCharge } from '../domain/invoice-charge.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { insertAttempts } from '../store/charge-attempts.ts';
import { findStatement } from '../store/health-card-statements.ts';
import { operationsWithAttempts } from '../store/invoice-operations.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { attemptAsCreated, newIntent } from './begin-attempt.ts';
import { invoiceAttempt, ownersOfCharge } from './invoice-attempt.ts';
import { intentEvent } from './payment-events.ts';

/** A charge of an invoice that is to be begun, with the context of its call, in which its event is encoded. */
export interface InvoiceClaim {
  readonly charge: InvoiceCharge;
  /** Where new money goes. */
  readonly ofNewMoney: ProcessorAccount;
  readonly inContext: <Result>(work: () => Result) => Result;
  /** Begins it in a transaction of its own. */
  readonly alone: () => Promise<InvoiceClaimed>;
}

/** An attempt that this call drives or finds, with its intent if the call has begun it; or why what has paid the part under another id does not pay for this charge. */
export type InvoiceClaimed =
  | { readonly attempt: ChargeAttempt; readonly intent?: PaymentIntent }
  | { readonly paidOtherwise: 'charge_refunded' | 'charge_disputed' | 'charged_another_amount' }
  | 'busy';

/**
 * Begins several new charges of invoices together. Returns undefined if one of them is not plain, because it was begun before, its invoice has a live charge, or
 * its card cannot be charged: the caller rolls back, and each is begun alone.
 */
export async function claimInvoiceCharges(
  budgets: ChargeBudgets,
  tx: Tx,
  scope: Scope,
  claims: readonly InvoiceClaim[],
): Promise<InvoiceClaimed[] | undefined> {
  const charges = claims.map(({ charge }) => charge);
  const [known, cards, statement] = await Promise.all([
    operationsWithAttempts(tx, scope, charges),
    findChargeableCards(
      tx,
      scope,
      charges.map(({ paymentMethodId }) => paymentMethodId),
    ),
    scope.testMode ? undefined : findStatement(tx, scope),
  ]);
  if (known.size > 0) return undefined;
  const cardOf = new Map(cards.map((card) => [card.id, card]));
  const begun = [];
  for (const { charge, ofNewMoney, inContext } of claims) {
    const attempt = invoiceAttempt(scope, charge, cardOf.get(charge.paymentMethodId), {
      ...{ id: charge.operationId, statement, ofNewMoney, budgets },
    });
    if (typeof attempt === 'string') return undefined;
    const owners = ownersOfCharge(charge);
    const intent = newIntent(attempt, owners);
    const event = inContext(() => encodeEvent(intentEvent(scope, 'payment_intent.created', intent, attempt.actingAt)));
    begun.push({ attempt, owners, intent, event });
  }
  const events = begun.map(({ event }) => event);
  await Promise.all([insertAttempts(tx, scope, begun), appendEncoded(tx, events)]);
  return begun.map(({ attempt, intent }) => ({ attempt: attemptAsCreated(attempt), intent }));
}
