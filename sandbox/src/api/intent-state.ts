import { Refusal } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { PaymentIntentRecord } from '../store/record-types.ts';
import type { Call } from './route.ts';

/** The intent that the path names. */
export function needIntent(call: Call): PaymentIntentRecord {
  return call.records.need('payment_intent', call.account, call.id, 'intent');
}

/** What Stripe answers when an intent is not in a state for what is asked of it: the intent comes along. */
export function unexpectedState(intent: PaymentIntentRecord, message: string): Refusal {
  return new Refusal(400, {
    type: 'invalid_request_error',
    code: 'payment_intent_unexpected_state',
    message,
    payment_intent: shape('payment_intent', intent),
  });
}
