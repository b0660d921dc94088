import type { Behaviour } from '../cards.ts';
import type { Parameters } from '../http/parameters.ts';
import { Refusal } from '../refusal.ts';
import { needCard } from '../shapes/card.ts';
import { shape } from '../shapes/shape.ts';
import type { ChargeRecord, LastError, PaymentIntentRecord, PaymentMethodRecord } from '../store/record-types.ts';
import { moveMoney, processingFee } from './balance.ts';
import { openDispute } from './dispute-opening.ts';
import { unexpectedState } from './intent-state.ts';
import type { Call } from './route.ts';

export interface Confirmation {
  paymentMethod: string | undefined;
  offSession: boolean;
  returnUrl: string | undefined;
  setupFutureUsage: string | undefined;
}

const confirmable = ['requires_payment_method', 'requires_confirmation', 'requires_action'];

export function readConfirmation(parameters: Parameters): Confirmation {
  const confirmation = {
    paymentMethod: parameters.text('payment_method'),
    offSession: readOffSession(parameters),
    returnUrl: parameters.text('return_url'),
    setupFutureUsage: parameters.oneOf('setup_future_usage', ['off_session', 'on_session'] as const),
  };
  parameters.boolean('error_on_requires_action');
  parameters.boolean('use_stripe_sdk');
  parameters.text('confirmation_method');
  return confirmation;
}

/** Charges the intent's card, and gives the intent as it is then; a decline is written down and thrown as a 402. */
export function confirmIntent(call: Call, known: PaymentIntentRecord, confirmation: Confirmation): PaymentIntentRecord {
  if (!confirmable.includes(known.status)) {
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
  const { behaviour } = needCard(method.card);
  if (behaviour.kind === 'decline') throw decline(call, intent, method, behaviour);
  if (behaviour.kind === 'authenticate') {
    if (confirmation.offSession) throw decline(call, intent, method, authenticationRequired);
    return awaitAuthentication(call, intent);
  }
  const charged = approve(call, intent, method);
  if (behaviour.kind === 'dispute' && charged.status === 'succeeded' && charged.latestCharge !== null) {
    openDispute(call, charged.latestCharge, { reason: 'fraudulent' });
  }
  return charged;
}

/** The issuer approves: the money is taken, or held when it is to be captured later. */
export function approve(call: Call, intent: PaymentIntentRecord, method: PaymentMethodRecord): PaymentIntentRecord {
  const captured = intent.captureMethod !== 'manual';
  const draft = newCharge(call, intent, method);
  const transaction = captured
    ? moveMoney(call, {
        amount: intent.amount,
        fee: processingFee(intent.amount),
        currency: intent.currency,
        type: 'charge',
        source: draft.id,
        description: intent.description,
      })
    : undefined;
  const charge: ChargeRecord = {
    ...draft,
    captured,
    amountCaptured: captured ? intent.amount : 0,
    balanceTransaction: transaction?.id ?? null,
  };
  call.records.insert('charge', charge, intent.id);
  const charged: PaymentIntentRecord = {
    ...intent,
    status: captured ? 'succeeded' : 'requires_capture',
    amountReceived: captured ? intent.amount : 0,
    amountCapturable: captured ? 0 : intent.amount,
    latestCharge: charge.id,
    lastError: null,
  };
  call.records.update('payment_intent', charged);
  call.emit('charge.succeeded', 'charge', charge);
  call.emit(
    captured ? 'payment_intent.succeeded' : 'payment_intent.amount_capturable_updated',
    'payment_intent',
    charged,
  );
  return charged;
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
    multicapture: intent.multicapture,
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
