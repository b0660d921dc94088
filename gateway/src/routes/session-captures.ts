import { renderAllocation, routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { moneyCall } from '../http/call-budget.ts';
import { inFlightUnderKey } from '../http/in-flight-under-key.ts';
import { cents } from '../messages.ts';
import type { Peers } from '../peers.ts';

type Instruction = NonNullable<(typeof routes.checkoutSessions.capture)['body']>['schema']['_output'];

/** The capture of a session, its preview, and the deprecated capture of one payment intent. */
export function sessionCaptureBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { capture, previewCapture } = routes.checkoutSessions;
  return [
    bind(capture, async (request) => {
      const { id: sessionId, body, idempotency } = request;
      const metadata = body.capture_metadata ?? {};
      const message = { sessionId, instruction: instructionOf(request), metadata, ...given({ idempotency }) };
      const captured = checkout.captureSession(message, moneyCall(request.call));
      return answers.one(request, 'checkout_session', await inFlightUnderKey(request, captured));
    }),
    bind(previewCapture, async (request) => {
      const message = { sessionId: request.id, instruction: instructionOf(request) };
      const { allocations } = await checkout.previewCapture(message, request.call);
      return { allocations: allocations.map(renderAllocation) };
    }),
    bind(routes.paymentIntents.capture, async (request) => {
      const { id, body, idempotency } = request;
      const amountCents = cents(body.amount_to_capture);
      const message = { id, metadata: body.capture_metadata ?? {}, ...given({ amountCents, idempotency }) };
      const captured = checkout.capturePaymentIntent(message, moneyCall(request.call));
      return answers.one(request, 'payment_intent', await inFlightUnderKey(request, captured));
    }),
  ];
}

function instructionOf({ body }: ApiRequest<unknown, Instruction>) {
  return {
    lines: (body.line_items ?? []).map((line) => ({
      item:
        line.price === undefined
          ? { case: 'productId' as const, value: line.product ?? '' }
          : { case: 'priceId' as const, value: line.price },
      amountCents: cents(line.amount_to_capture),
    })),
    finalCapture: body.final_capture ?? false,
    ...given({
      amountCents: cents(body.amount),
      taxCents: cents(body.amount_tax),
      shippingCents: cents(body.amount_shipping),
      discountCents: cents(body.amount_discount),
    }),
  };
}
