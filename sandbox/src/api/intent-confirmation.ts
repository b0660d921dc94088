import type { Behaviour } from '../cards.ts';
import type { Parameters } from '../http/parameters.ts';
import { invalidRequest, Refusal } from '../refusal.ts';
import { needCard } from '../shapes/card.ts';
import { mandateOf } from '../shapes/mandate.ts';
import { shape } from '../shapes/shape.ts';
import type { ChargeRecord, LastError, PaymentIntentRecord, PaymentMethodRecord } from '../store/record-types.ts';
import { moveMoney, processingFee } from './balance.ts';
import { takeConfirmationToken } from './confirmation-tokens.ts';
import { openDispute } from './dispute-opening.ts';
import { beginHold, holdSeconds } from './hold-lapse.ts';
import { unexpectedState } from './intent-state.ts';
import type { Call } from './route.ts';

export interface Confirmation {
  paymentMethod: string | undefined;
  confirmationToken: string | undefined;
  offSession: boolean;
  returnUrl: string | undefined;
  setupFutureUsage: string | undefined;
  mandate?: string | undefined;
}

const confirmable = ['requires_payment_method', 'requires_confirmation', 'requires_action'];

export function readConfirmation(parameters: Parameters): Confirmation {
  const confirmation = {
    paymentMethod: parameters.text('payment_method'),
    confirmationToken: parameters.text('confirmation_token'),
    offSession: readOffSession(parameters),
    returnUrl: parameters.text('return_url'),
    mandate: parameters.text('mandate'),
    setupFutureUsage: parameters.oneOf('setup_future_usage', ['off_session', 'on_session'] as const),
  };
  parameters.boolean('error_on_requires_action');
  parameters.boolean('use_stripe_sdk');
  parameters.text('confirmation_method');
  if (confirmation.paymentMethod !== undefined && confirmation.confirmationToken !== undefined) {
    throw invalidRequest('You may only specify one of these parameters: payment_method, confirmation_token.', {
      param: 'confirmation_token',
    });
  }
  return confirmation;
}

/** The confirmation with the payment method that its token makes. */
export function withTokensMethod(
  call: Call,
  intent: Pick<PaymentIntentRecord, 'id' | 'setupFutureUsage' | 'captureMethod'>,
  confirmation: Confirmation,
): Confirmation {
  const { confirmationToken } = confirmation;
  if (confirmationToken === undefined) return confirmation;
  const asked = confirmation.setupFutureUsage ?? intent.setupFutureUsage;
  const use = { paymentIntent: intent.id };
  const taken = takeConfirmationToken(call, confirmationToken, use, asked, intent.captureMethod);
  const { method, setupFutureUsage } = taken;
  return {
    ...confirmation,
    paymentMethod: method.id,
    setupFutureUsage: confirmation.setupFutureUsage ?? setupFutureUsage,
  };
}

/** Whether the intent takes a confirmation as it stands. */
export function isConfirmable({ status }: PaymentIntentRecord): boolean {
  return confirmable.includes(status);
}

/** Charges the intent's card, and gives the intent as it is then; a decline is written down and thrown as a 402. */
export function confirmIntent(call: Call, known: PaymentIntentRecord, confirmation: Confirmation): PaymentIntentRecord {
  if (!isConfirmable(known)) {
    throw unexpectedState(
      known,
      `You cannot confirm this PaymentIntent because it has ${known.status === 'succeeded' ? 'already succeeded after being previously confirmed' : `a status of ${known.status}`}.`,
    );
  }
  const methodId = confirmation.paymentMethod ?? known.paymentMethod;
  if (methodId === null) {
    throw unexpectedState(
      known,
      'You cannot confirm this PaymentIntent because it is missing a payment method. Provide one with `payment_method`.',
    );
  }
  const method = call.records.need('payment_method', call.account, methodId, 'payment_method', 400);
  const intent: PaymentIntentRecord = {
    ...known,
    paymentMethod: method.id,
    returnUrl: confirmation.returnUrl ?? known.returnUrl,
    setupFutureUsage: confirmation.setupFutureUsage ?? known.setupFutureUsage,
  };
  checkMandate(confirmation.mandate, method);
  const { behaviour } = needCard(method.card);
  if (behaviour.kind === 'decline') throw decline(call, intent, method, behaviour);
  const approved = approvedAmount(intent, behaviour);
  if (approved === undefined) throw decline(call, intent, method, insufficientFunds);
  if (needsAuthentication(behaviour, intent.threeDSecure)) {
    if (confirmation.offSession) throw decline(call, intent, method, authenticationRequired);
    return awaitAuthentication(call, intent);
  }
  const charged = approve(call, intent, method, confirmation.offSession, approved, confirmation.mandate);
  const isDisputed = behaviour.kind === 'dispute' || behaviour.kind === 'inquiry';
  if (isDisputed && charged.status === 'succeeded' && charged.latestCharge !== null) {
    openDispute(call, charged.latestCharge, { reason: 'fraudulent', inquiry: behaviour.kind === 'inquiry' });
  }
  return charged;
}

/** Whether an issuer has the shopper authenticate: always, or where the payment asks for it. */
export function needsAuthentication(behaviour: Behaviour, asked: PaymentIntentRecord['threeDSecure']): boolean {
  if (behaviour.kind !== 'authenticate') return false;
  return !behaviour.whenAsked || asked === 'any' || asked === 'challenge';
}

/**
 * What the issuer approves; undefined where the card is short. Stripe has no parameter that asks for a part, so that it travels as metadata, and only a hold can be
 * approved in part.
 */
function approvedAmount({ amount, captureMethod, metadata }: PaymentIntentRecord, behaviour: Behaviour) {
  if (behaviour.kind !== 'short' || amount <= behaviour.balance) return amount;
  const isAsked = captureMethod === 'manual' && metadata[partialMark] === 'if_available';
  return isAsked ? behaviour.balance : undefined;
}

/** In an intent's metadata: the issuer may approve a part of the amount. */
const partialMark = 'sandbox_partial_authorization';

/** The issuer approves, all of it or a part: the money is taken, or held when it is to be captured later. */
export function approve(
  call: Call,
  intent: PaymentIntentRecord,
  method: PaymentMethodRecord,
  offSession: boolean,
  amount: number = intent.amount,
  mandate?: string | undefined,
): PaymentIntentRecord {
  const captured = intent.captureMethod !== 'manual';
  const draft = { ...newCharge(call, intent, method), amount };
  const transaction = captured
    ? moveMoney(call, {
        amount,
        fee: processingFee(amount),
        currency: intent.currency,
        type: 'charge',
        source: draft.id,
        description: intent.description,
      })
    : undefined;
  const charge: ChargeRecord = {
    ...draft,
    captured,
    amountCaptured: captured ? amount : 0,
    balanceTransaction: transaction?.id ?? null,
    captureBefore: captured ? null : call.at + holdSeconds(offSession),
    mandate: mandate ?? mandateMade(intent, method),
  };
  call.records.insert('charge', charge, intent.id);
  const charged: PaymentIntentRecord = {
    ...intent,
    status: captured ? 'succeeded' : 'requires_capture',
    amountReceived: captured ? amount : 0,
    amountCapturable: captured ? 0 : amount,
    latestCharge: charge.id,
    lastError: null,
  };
  call.records.update('payment_intent', charged);
  if (!captured) beginHold(call, charged, offSession);
  if (intent.setupFutureUsage !== null) keepForCustomer(call, method, intent.customer);
  call.emit('charge.succeeded', 'charge', charge);
  call.emit(
    captured ? 'payment_intent.succeeded' : 'payment_intent.amount_capturable_updated',
    'payment_intent',
    charged,
  );
  return charged;
}

// A payment that saves its card for charges without the shopper makes a mandate for them.
function mandateMade({ setupFutureUsage, customer }: PaymentIntentRecord, method: PaymentMethodRecord): string | null {
  return setupFutureUsage === 'off_session' && customer !== null ? mandateOf(method.id) : null;
}

/** Refuses a mandate that is not this card's. */
function checkMandate(mandate: string | undefined, method: PaymentMethodRecord): void {
  if (mandate === undefined || (mandate === mandateOf(method.id) && method.customer !== null)) return;
  throw invalidRequest('The provided mandate is invalid for this payment method.', {
    code: 'payment_intent_mandate_invalid',
    param: 'mandate',
  });
}

// A payment that sets its card up attaches it to the customer once it has succeeded.
function keepForCustomer(call: Call, method: PaymentMethodRecord, customer: string | null): void {
  if (customer === null || method.customer !== null) return;
  const attached = { ...method, customer };
  call.records.update('payment_method', attached, customer);
  call.emit('payment_method.attached', 'payment_method', attached);
}

/** The issuer declines: the failed charge and the intent's error are written, and the 402 comes back to be thrown. */
export function decline(
  call: Call,
  intent: PaymentIntentRecord,
  method: PaymentMethodRecord,
  why: Extract<Behaviour, { kind: 'decline' }>,
): Refusal {
  const charge: ChargeRecord = {
    ...newCharge(call, intent, method),
    status: 'failed',
    failureCode: why.code,
    declineCode: why.declineCode,
    failureMessage: why.message,
  };
  call.records.insert('charge', charge, intent.id);
  const error: LastError = {
    type: 'card_error',
    code: why.code,
    decline_code: why.declineCode,
    message: why.message,
    charge: charge.id,
    payment_method: shape('payment_method', method),
  };
  const failed: PaymentIntentRecord = {
    ...intent,
    status: 'requires_payment_method',
    paymentMethod: null,
    latestCharge: charge.id,
    lastError: error,
  };
  call.records.update('payment_intent', failed);
  call.emit('charge.failed', 'charge', charge);
  call.emit('payment_intent.payment_failed', 'payment_intent', failed);
  return new Refusal(402, { ...error, payment_intent: shape('payment_intent', failed) });
}

const insufficientFunds = {
  kind: 'decline',
  code: 'card_declined',
  declineCode: 'insufficient_funds',
  message: 'Your card has insufficient funds.',
} as const;

const authenticationRequired = {
  kind: 'decline',
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message: 'Your card was declined. This transaction requires authentication.',
} as const;

function awaitAuthentication(call: Call, intent: PaymentIntentRecord): PaymentIntentRecord {
  const waiting: PaymentIntentRecord = { ...intent, status: 'requires_action' };
  call.records.update('payment_intent', waiting);
  call.emit('payment_intent.requires_action', 'payment_intent', waiting);
  return waiting;
}

function newCharge(call: Call, intent: PaymentIntentRecord, method: PaymentMethodRecord): ChargeRecord {
  return {
    id: call.newId('ch'),
    account: call.account,
    created: call.at,
    amount: intent.amount,
    amountCaptured: 0,
    amountRefunded: 0,
    currency: intent.currency,
    status: 'succeeded',
    captured: false,
    released: false,
    captureBefore: null,
    multicapture: intent.multicapture && needCard(method.card).severalCaptures,
    paymentIntent: intent.id,
    paymentMethod: method.id,
    card: method.card,
    expMonth: method.expMonth,
    expYear: method.expYear,
    customer: intent.customer,
    billingDetails: method.billingDetails,
    balanceTransaction: null,
    disputed: false,
    failureCode: null,
    declineCode: null,
    failureMessage: null,
    description: intent.description,
    idempotencyKey: call.idempotencyKey,
    metadata: intent.metadata,
  };
}

/** `true`, `false`, or Stripe's older `one_off` and `recurring`. */
function readOffSession(parameters: Parameters): boolean {
  const text = parameters.oneOf('off_session', ['true', 'false', 'one_off', 'recurring'] as const);
  return text !== undefined && text !== 'false';
}
