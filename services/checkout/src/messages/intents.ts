import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import {
  type Charge as ChargeMessage,
  ChargeSchema,
  type PaymentIntent as IntentMessage,
  PaymentIntentSchema,
  type SetupIntent as SetupIntentMessage,
  SetupIntentSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { SetupIntent } from '../domain/setup-intent.ts';

/** The message of a payment intent, as every call and event carries it. */
export function intentMessage(scope: Scope, intent: PaymentIntent): IntentMessage {
  return create(PaymentIntentSchema, {
    paymentIntentId: intent.id,
    amountCents: BigInt(intent.amountCents),
    amountCapturableCents: BigInt(intent.amountCapturableCents),
    amountReceivedCents: BigInt(intent.amountReceivedCents),
    amountRefundedCents: BigInt(intent.amountRefundedCents),
    amountDisputedCents: BigInt(intent.amountDisputedCents),
    status: intent.status,
    captureMethod: intent.captureMethod,
    leg: intent.leg,
    metadata: { ...intent.metadata },
    testMode: scope.testMode,
    createdAtMs: BigInt(intent.createdAt.getTime()),
    ...present({
      customerId: intent.customerId,
      paymentMethodId: intent.paymentMethodId,
      latestChargeId: intent.latestChargeId,
      invoiceId: billedBy(intent),
      checkoutSessionId: intent.sessionId,
      captureBeforeMs: heldUntilMs(intent),
    }),
  });
}

function heldUntilMs({ status, captureBefore }: PaymentIntent): bigint | null {
  return status === 'requires_capture' && captureBefore !== null ? BigInt(captureBefore.getTime()) : null;
}

// The invoice of a session that sells a subscription is made once its card has paid: before that, or after a declined card, its id would answer 404.
function billedBy({ sessionId, status, invoiceId }: PaymentIntent): string | null {
  return sessionId === null || status === 'succeeded' ? invoiceId : null;
}

/** The message of a set-up intent. */
export function setupIntentMessage(scope: Scope, setup: SetupIntent): SetupIntentMessage {
  return create(SetupIntentSchema, {
    setupIntentId: setup.id,
    status: setup.status,
    testMode: scope.testMode,
    createdAtMs: BigInt(setup.createdAt.getTime()),
    ...present({ customerId: setup.customerId, paymentMethodId: setup.paymentMethodId }),
  });
}

/** The message of a charge. */
export function chargeMessage(scope: Scope, charge: Charge): ChargeMessage {
  return create(ChargeSchema, {
    chargeId: charge.id,
    amountCents: BigInt(charge.amountCents),
    amountCapturedCents: BigInt(charge.amountCapturedCents),
    amountRefundedCents: BigInt(charge.amountRefundedCents),
    status: charge.status,
    paymentIntentId: charge.paymentIntentId,
    disputed: charge.disputed,
    testMode: scope.testMode,
    createdAtMs: BigInt(charge.createdAt.getTime()),
    ...present({
      paymentMethodId: charge.paymentMethodId,
      failureCode: charge.failureCode,
      declineCode: charge.declineCode,
      balanceTransactionId: charge.balanceTransactionId,
    }),
  });
}
