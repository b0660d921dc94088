import { cents, sumCents } from '@eligo/values';
import type Stripe from 'stripe';
import type {
  BalanceTransactionFacts,
  BillingDetails,
  CardAgreement,
  CardFacts,
  ChargeFacts,
  ConfirmationTokenFacts,
  DisputeFacts,
  IntentFacts,
  IntentOutcome,
  PaymentMethodFacts,
  PayoutFacts,
  RefundFacts,
  RefundOutcome,
  SetupFacts,
  SetupOutcome,
} from './outcomes.ts';

export function intentFacts(intent: Stripe.PaymentIntent): IntentFacts {
  return {
    intentId: intent.id,
    amountCents: cents(intent.amount),
    amountCapturableCents: cents(intent.amount_capturable),
    amountReceivedCents: cents(intent.amount_received),
    currency: intent.currency,
    customerId: idOf(intent.customer),
    paymentMethodId: idOf(intent.payment_method),
    metadata: intent.metadata,
    clientSecret: intent.client_secret ?? undefined,
    nextActionUrl: intent.next_action?.redirect_to_url?.url ?? undefined,
  };
}

/** What an intent stands at. One that waits for a card after a decline is `declined`; before any try it is `confirmable`. */
export function intentOutcome(intent: Stripe.PaymentIntent): IntentOutcome {
  const facts = intentFacts(intent);
  const chargeId = idOf(intent.latest_charge);
  const status: string = intent.status;
  switch (status) {
    case 'succeeded':
    case 'requires_capture':
      if (chargeId === undefined) throw new RangeError('The processor returned a succeeded intent without a charge');
      return {
        kind: status,
        chargeId,
        captureBefore: captureBeforeOf(intent.latest_charge),
        agreement: agreementOf(intent.latest_charge),
        ...facts,
      };
    case 'requires_action':
    case 'processing':
    case 'canceled':
      return { kind: status, ...facts };
    case 'requires_confirmation':
      return { kind: 'confirmable', ...facts };
    case 'requires_payment_method': {
      const error = intent.last_payment_error;
      if (error === null) return { kind: 'confirmable', ...facts };
      return { kind: 'declined', code: error.code ?? 'card_declined', declineCode: error.decline_code, chargeId };
    }
    default:
      throw new RangeError('The processor returned an intent in an unknown state');
  }
}

function captureBeforeOf(charge: Stripe.PaymentIntent['latest_charge']): Date | undefined {
  if (charge === null || typeof charge === 'string') return undefined;
  const seconds = charge.payment_method_details?.card?.capture_before;
  return seconds === undefined ? undefined : new Date(seconds * 1_000);
}

function agreementOf(charge: Stripe.PaymentIntent['latest_charge']): CardAgreement | undefined {
  if (charge === null || typeof charge === 'string') return undefined;
  const card = charge.payment_method_details?.card;
  return agreement(idOf(card?.mandate), card?.network_transaction_id ?? undefined);
}

function agreement(mandateId: string | undefined, networkTransactionId: string | undefined) {
  return mandateId === undefined && networkTransactionId === undefined
    ? undefined
    : { mandateId, networkTransactionId };
}

export function setupOutcome(setup: Stripe.SetupIntent): SetupOutcome {
  const facts: SetupFacts = {
    agreement: agreement(idOf(setup.mandate), undefined),
    setupIntentId: setup.id,
    customerId: idOf(setup.customer),
    paymentMethodId: idOf(setup.payment_method),
    clientSecret: setup.client_secret ?? undefined,
    nextActionUrl: setup.next_action?.redirect_to_url?.url ?? undefined,
  };
  const status: string = setup.status;
  switch (status) {
    case 'succeeded':
    case 'requires_action':
    case 'processing':
    case 'canceled':
      return { kind: status, ...facts };
    case 'requires_confirmation':
      return { kind: 'confirmable', ...facts };
    case 'requires_payment_method': {
      const error = setup.last_setup_error;
      if (error === null) return { kind: 'confirmable', ...facts };
      return {
        kind: 'declined',
        code: error.code ?? 'card_declined',
        declineCode: error.decline_code,
        chargeId: undefined,
        clientSecret: facts.clientSecret,
      };
    }
    default:
      throw new RangeError('The processor returned a setup intent in an unknown state');
  }
}

export function refundOutcome(refund: Stripe.Refund): RefundOutcome {
  const card = refund.destination_details?.card;
  const facts: RefundFacts = {
    refundId: refund.id,
    amountCents: cents(refund.amount),
    intentId: idOf(refund.payment_intent),
    chargeId: idOf(refund.charge),
    failureReason: refund.failure_reason,
    balanceTransactionId: idOf(refund.balance_transaction),
    failureBalanceTransactionId: idOf(refund.failure_balance_transaction),
    reference: { id: card?.reference, type: card?.reference_type, status: card?.reference_status },
    metadata: refund.metadata ?? {},
  };
  switch (refund.status) {
    case 'succeeded':
    case 'pending':
    case 'failed':
    case 'canceled':
    case 'requires_action':
      return { kind: refund.status, ...facts };
    default:
      throw new RangeError('The processor returned a refund in an unknown state');
  }
}

export function paymentMethodFacts(method: Stripe.PaymentMethod): PaymentMethodFacts {
  const { card } = method;
  if (card === undefined) throw new RangeError('The payment method is not a card');
  return {
    paymentMethodId: method.id,
    customerId: idOf(method.customer),
    card: cardFacts(card),
    billing: billingOf(method.billing_details),
  };
}

export function confirmationTokenFacts(token: Stripe.ConfirmationToken): ConfirmationTokenFacts {
  const preview = token.payment_method_preview;
  if (preview?.card === undefined) throw new RangeError('The confirmation token is not of a card');
  return {
    confirmationTokenId: token.id,
    isUsed: token.payment_intent !== null || token.setup_intent !== null,
    card: cardFacts(preview.card),
    billing: billingOf(preview.billing_details),
  };
}

function billingOf({ name, email, phone, address }: Stripe.PaymentMethod.BillingDetails): BillingDetails {
  return {
    name: name ?? undefined,
    email: email ?? undefined,
    phone: phone ?? undefined,
    address: address === null ? undefined : withoutNulls(address),
  };
}

/**
 * A health card is identified by the name of its issuing range (`card.description`, such as "Visa Healthcare HSA"). Where the processor
 * does not give that, it is not known: neither the funding nor the brand of a card says it.
 */
export function cardFacts(card: Stripe.PaymentMethod.Card): CardFacts {
  const { description } = card;
  return {
    brand: card.brand,
    country: card.country ?? undefined,
    expMonth: card.exp_month,
    expYear: card.exp_year,
    funding: card.funding,
    last4: card.last4,
    iin: card.iin ?? undefined,
    hsaFsa: description ? /\b(hsa|fsa|hra|healthcare|health savings|flexible spending)\b/i.test(description) : null,
  };
}

export function disputeFacts(dispute: Stripe.Dispute): DisputeFacts {
  return {
    disputeId: dispute.id,
    chargeId: idOf(dispute.charge),
    intentId: idOf(dispute.payment_intent),
    amountCents: cents(dispute.amount),
    currency: dispute.currency,
    status: dispute.status,
    reason: dispute.reason,
    dueBy: dispute.evidence_details.due_by ?? undefined,
    submissionCount: dispute.evidence_details.submission_count,
    hasEvidence: dispute.evidence_details.has_evidence,
    evidence: Object.fromEntries(
      Object.entries(dispute.evidence).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
    createdAt: new Date(dispute.created * 1_000),
    balanceTransactionIds: dispute.balance_transactions.flatMap((transaction) => idOf(transaction) ?? []),
    movements: dispute.balance_transactions
      .filter((transaction) => typeof transaction === 'object')
      .map(balanceTransactionFacts)
      .filter(isInDollars),
  };
}

export function chargeFacts(charge: Stripe.Charge): ChargeFacts {
  return {
    chargeId: charge.id,
    intentId: idOf(charge.payment_intent),
    amountCents: cents(charge.amount),
    amountCapturedCents: cents(charge.amount_captured),
    amountRefundedCents: cents(charge.amount_refunded),
    status: charge.status,
    disputed: charge.disputed,
    balanceTransactionId: idOf(charge.balance_transaction),
    failureCode: charge.failure_code ?? undefined,
    allowsSeveralCaptures: charge.payment_method_details?.card?.multicapture?.status === 'available',
  };
}

export function payoutFacts(payout: Stripe.Payout): PayoutFacts {
  return {
    payoutId: payout.id,
    amountCents: cents(payout.amount),
    currency: payout.currency,
    status: payout.status,
    arrivalDate: payout.arrival_date,
    automatic: payout.automatic,
    balanceTransactionId: idOf(payout.balance_transaction),
    failureCode: payout.failure_code ?? undefined,
    createdAt: new Date(payout.created * 1_000),
  };
}

export function balanceTransactionFacts(transaction: Stripe.BalanceTransaction): BalanceTransactionFacts {
  return {
    balanceTransactionId: transaction.id,
    type: transaction.type,
    currency: transaction.currency,
    amountCents: cents(transaction.amount),
    feeCents: cents(transaction.fee),
    applicationFeeCents: sumCents(
      transaction.fee_details.filter(({ type }) => type === 'application_fee').map(({ amount }) => cents(amount)),
    ),
    netCents: cents(transaction.net),
    status: transaction.status,
    availableOn: transaction.available_on,
    sourceId: idOf(transaction.source),
    reportingCategory: transaction.reporting_category,
    createdAt: new Date(transaction.created * 1_000),
  };
}

/** Whether a movement was on the balance that the books are about. */
export function isInDollars({ currency }: BalanceTransactionFacts): boolean {
  return currency === 'usd';
}

function idOf(reference: string | { id: string } | null | undefined): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

function withoutNulls(address: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(address).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
