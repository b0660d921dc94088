import type { Scope } from '@eligo/postgres';
import { newId, type ProcessorAccount } from '@eligo/values';
import type { ChargeBudgets } from '../charge-budgets.ts';
import { accountToCharge } from '../domain/card-account.ts';
import { kindOfCard } from '../domain/card-kind.ts';
import { noHealthcare } from '../domain/charge-attempt.ts';
import type { InvoiceCharge } from '../domain/invoice-charge.ts';
import type { IntentOwners, NewAttempt } from '../store/charge-attempts.ts';
import type { HealthCardStatement } from '../store/health-card-statements.ts';
import type { ChargeableCard } from '../store/session-payments.ts';

/** What a new attempt of an invoice is made of, beside its charge and its card. */
export interface InvoiceAttemptParts {
  readonly id: string;
  /** What the account says of health cards in live mode; undefined while the gateway has told nothing. */
  readonly statement: HealthCardStatement | undefined;
  /** Where new money goes. */
  readonly ofNewMoney: ProcessorAccount;
  readonly budgets: ChargeBudgets;
}

/** Why an attempt cannot be begun: for good, but for a statement that is not told yet. */
export type NoAttempt = 'payment_method_not_found' | 'health_cards_not_enabled' | 'statement_not_told';

/** A new attempt to charge an invoice to a card. Throws for a card that was saved at another processor account. */
export function invoiceAttempt(
  scope: Scope,
  charge: InvoiceCharge,
  card: ChargeableCard | undefined,
  { id, statement, ofNewMoney, budgets }: InvoiceAttemptParts,
): NewAttempt | NoAttempt {
  // It is, or may be, a health card, which billing did not know when it chose it: final for this charge, and billing chooses again by what the card is now.
  if (card === undefined || (charge.leg === 'other' && card.hsaFsa !== false)) return 'payment_method_not_found';
  const cardKind = kindOfCard(card.hsaFsa, undefined);
  if (charge.leg === 'health' && cardKind !== 'other' && !scope.testMode) {
    if (statement === undefined) return 'statement_not_told';
    // Also final for this charge; the next one finds what the operator has said by then.
    if (statement.substantiation === null) return 'health_cards_not_enabled';
  }
  return {
    id,
    purpose: 'invoice',
    subjectId: charge.invoiceId,
    leg: charge.leg,
    driver: 'invoice',
    eligibilityRecordId: null,
    paymentIntentId: newId('payment_intent'),
    customerId: charge.customerId,
    paymentMethodId: card.id,
    processorAccount: accountToCharge(card, ofNewMoney),
    processorPaymentMethodId: card.processorPaymentMethodId,
    processorCustomerId: card.processorCustomerId,
    offSession: charge.onPage !== true && charge.withCustomer !== true,
    threeDSecure: null,
    captureMethod: 'automatic',
    amountCents: charge.amountCents,
    healthcare: charge.healthcare ?? noHealthcare,
    cardKind,
    expand: [],
    actingAt: charge.at,
    leaseMs: budgets.leaseMs,
    confirmMs: budgets.confirmMs,
    operationId: charge.operationId,
  };
}

/** Whom the intent of a charge belongs to. */
export function ownersOfCharge({ invoiceId, subscriptionId }: InvoiceCharge): IntentOwners {
  return { sessionId: null, invoiceId, subscriptionId };
}
