import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { ChargeRecord, PaymentIntentRecord } from '../store/record-types.ts';
import { moveMoney, processingFee } from './balance.ts';
import { takeReference, withCapture } from './capture-references.ts';
import { lapseIfDue } from './hold-lapse.ts';
import { needIntent, unexpectedState } from './intent-state.ts';
import type { Call, Route } from './route.ts';

export const settlementRoutes: Route[] = [
  { method: 'POST', path: '/v1/payment_intents/:id/capture', call: 'payment_intents.capture', prepare: capture },
  { method: 'POST', path: '/v1/payment_intents/:id/cancel', call: 'payment_intents.cancel', prepare: cancel },
];

const cancelable = ['requires_payment_method', 'requires_confirmation', 'requires_action', 'requires_capture'];
const cancellationReasons = ['duplicate', 'fraudulent', 'requested_by_customer', 'abandoned'] as const;

/**
 * Takes part or all of what is held. Without `final_capture=false` the rest is released; with it (only where multicapture was
 * asked for at creation and the card has it) more may follow. Nothing, finally, releases the hold and keeps what was captured before.
 */
function capture(parameters: Parameters) {
  const amountToCapture = parameters.integer('amount_to_capture');
  const final = parameters.boolean('final_capture') ?? true;
  const { reference, rest: metadata } = takeReference(parameters.metadata());
  parameters.text('statement_descriptor');
  parameters.text('statement_descriptor_suffix');
  parameters.finish();
  return (call: Call) => {
    const intent = lapseIfDue(call, needIntent(call));
    if (intent.status !== 'requires_capture') {
      throw unexpectedState(
        intent,
        `This PaymentIntent could not be captured because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be captured: requires_capture.`,
      );
    }
    if (!final && !needCharge(call, intent).multicapture) {
      throw invalidRequest('`final_capture` may be false only when multicapture is available for the payment.', {
        param: 'final_capture',
      });
    }
    const amount = amountToCapture ?? intent.amountCapturable;
    if (amount > intent.amountCapturable) {
      throw invalidRequest(
        `The amount_to_capture ${amount} is greater than the amount that can still be captured, ${intent.amountCapturable}.`,
        { param: 'amount_to_capture', code: 'amount_too_large' },
      );
    }
    if (amount === 0 && (!final || intent.amountReceived === 0)) {
      throw invalidRequest('This value must be greater than or equal to 1.', {
        param: 'amount_to_capture',
        code: 'parameter_invalid_integer',
      });
    }
    return shape('payment_intent', captureFromHold(call, intent, amount, final, { metadata, reference }));
  };
}

function captureFromHold(
  call: Call,
  intent: PaymentIntentRecord,
  amount: number,
  final: boolean,
  given: { metadata?: Record<string, string> | null | undefined; reference?: string | undefined } = {},
): PaymentIntentRecord {
  const charge = needCharge(call, intent);
  const left = intent.amountCapturable - amount;
  const done = final || left === 0;
  const transaction =
    amount === 0
      ? undefined
      : moveMoney(call, {
          amount,
          fee: processingFee(amount),
          currency: intent.currency,
          type: 'charge',
          source: charge.id,
          description: intent.description,
        });
  const captured: ChargeRecord = {
    ...charge,
    captured: true,
    amountCaptured: charge.amountCaptured + amount,
    captures: withCapture(charge, given.reference, amount),
    balanceTransaction: charge.balanceTransaction ?? transaction?.id ?? null,
    released: done && left > 0,
    captureBefore: done ? null : charge.captureBefore,
  };
  const settled: PaymentIntentRecord = {
    ...intent,
    status: done ? 'succeeded' : 'requires_capture',
    amountReceived: intent.amountReceived + amount,
    amountCapturable: done ? 0 : left,
    metadata: mergedMetadata(intent.metadata, given.metadata),
  };
  if (done) call.holds.remove(intent.id);
  call.records.update('charge', captured);
  call.records.update('payment_intent', settled);
  call.records.indexMetadata(call.account, settled.id, settled.metadata, intent.metadata);
  call.emit('charge.captured', 'charge', captured);
  call.emit(done ? 'payment_intent.succeeded' : 'payment_intent.amount_capturable_updated', 'payment_intent', settled);
  return settled;
}

/** Gives up an intent and releases what it holds. After a partial capture the payment stands for what was captured. */
function cancel(parameters: Parameters) {
  const reason = parameters.oneOf('cancellation_reason', cancellationReasons);
  parameters.finish();
  return (call: Call) => {
    const intent = lapseIfDue(call, needIntent(call));
    if (!cancelable.includes(intent.status)) {
      throw unexpectedState(
        intent,
        `You cannot cancel this PaymentIntent because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be canceled: ${cancelable.join(', ')}.`,
      );
    }
    if (intent.status === 'requires_capture' && intent.amountReceived > 0) {
      return shape('payment_intent', captureFromHold(call, intent, 0, true));
    }
    if (intent.status === 'requires_capture') {
      call.holds.remove(intent.id);
      call.records.update('charge', { ...needCharge(call, intent), released: true });
    }
    const canceled: PaymentIntentRecord = {
      ...intent,
      status: 'canceled',
      amountCapturable: 0,
      canceledAt: call.at,
      cancellationReason: reason ?? null,
    };
    call.records.update('payment_intent', canceled);
    call.emit('payment_intent.canceled', 'payment_intent', canceled);
    return shape('payment_intent', canceled);
  };
}

function needCharge(call: Call, intent: PaymentIntentRecord): ChargeRecord {
  return call.records.need('charge', call.account, intent.latestCharge ?? '', 'latest_charge');
}
