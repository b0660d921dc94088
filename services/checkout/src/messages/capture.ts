import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { type Capture, CaptureSchema } from '@eligo/proto/checkout/v1/checkout';
import type { CaptureRecord } from '../domain/capture.ts';

/** The message of a capture. */
export function captureMessage(scope: Scope, capture: CaptureRecord): Capture {
  return create(CaptureSchema, {
    captureId: capture.id,
    checkoutSessionId: capture.sessionId,
    amountCapturedCents: BigInt(capture.amountCents),
    items: capture.lines.map((line) => ({
      priceId: line.priceId,
      paymentIntentId: line.paymentIntentId,
      amountCapturedCents: BigInt(line.amountCents),
    })),
    amountShippingCapturedCents: BigInt(capture.shippingCents),
    amountDiscountCapturedCents: BigInt(capture.discountCents),
    amountTaxCapturedCents: BigInt(capture.taxCents),
    finalCapture: capture.isFinal,
    metadata: { ...capture.metadata },
    testMode: scope.testMode,
    createdAtMs: BigInt(capture.createdAt.getTime()),
  });
}
