import type { PaymentIntentRecord } from '../store/record-types.ts';
import type { Call } from './route.ts';

const hour = 60 * 60;

/** How long a card's issuer holds money: seven days, and four days and 18 hours for a payment without the shopper. */
export function holdSeconds(offSession: boolean): number {
  return offSession ? 114 * hour : 7 * 24 * hour;
}

/** Notes until when an intent that was just authorized is held. */
export function beginHold(call: Call, intent: PaymentIntentRecord, offSession: boolean): void {
  const lapsesAtMs = call.clockMs + holdSeconds(offSession) * 1_000;
  call.holds.add({ account: call.account, intent: intent.id }, lapsesAtMs);
}

/** The intent as it is after its hold has lapsed; the same one if its time is not over. */
export function lapseIfDue(call: Call, intent: PaymentIntentRecord): PaymentIntentRecord {
  return call.holds.isLapsed(intent.id, call.clockMs) ? lapseHold(call, intent) : intent;
}

/**
 * Gives back what is held and was not captured, as Stripe does when the time of an authorization is over: the charge expires, and the intent is canceled. An
 * intent of which a part was captured stands for that part.
 */
export function lapseHold(call: Call, intent: PaymentIntentRecord): PaymentIntentRecord {
  call.holds.remove(intent.id);
  if (intent.status !== 'requires_capture') return intent;
  const charge = { ...call.records.need('charge', call.account, intent.latestCharge ?? ''), released: true };
  const isCaptured = intent.amountReceived > 0;
  const ended: PaymentIntentRecord = isCaptured
    ? { ...intent, status: 'succeeded', amountCapturable: 0 }
    : { ...intent, status: 'canceled', amountCapturable: 0, canceledAt: call.at, cancellationReason: 'expired' };
  call.records.update('charge', charge);
  call.records.update('payment_intent', ended);
  call.emit('charge.expired', 'charge', charge);
  call.emit(isCaptured ? 'payment_intent.succeeded' : 'payment_intent.canceled', 'payment_intent', ended);
  return ended;
}
