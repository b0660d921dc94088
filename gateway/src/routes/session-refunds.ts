import { renderAllocation, routes } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { moneyCall } from '../http/call-budget.ts';
import { cents } from '../messages.ts';
import type { Peers } from '../peers.ts';

type Instruction = NonNullable<(typeof routes.checkoutSessions.refund)['body']>['schema']['_output'];

/** The refund of a session and its preview. */
export function sessionRefundBindings({ refunds }: Peers, answers: Answers): Binding[] {
  const { refund, previewRefund } = routes.checkoutSessions;
  return [
    bind(refund, async (request) => {
      assertAllocationAllowed(request);
      const { session } = await refunds.refundSession(messageOf(request), moneyCall(request.call));
      if (session === undefined) throw new Error('The refund response has no session');
      return answers.one(request, 'checkout_session', session);
    }),
    bind(previewRefund, async (request) => {
      assertAllocationAllowed(request);
      const { allocations } = await refunds.previewRefund(messageOf(request), request.call);
      return { allocations: allocations.map(renderAllocation) };
    }),
  ];
}

// A beta feature (interface, refund rules): what an account may do is known here, before anything is looked up.
function assertAllocationAllowed({ body, key }: ApiRequest<unknown, Instruction>): void {
  if ((body.payment_methods ?? []).length === 0 || key.features.includes('refund_payment_methods')) return;
  throw new Failure('payment_method_allocation_not_enabled');
}

function messageOf({ id, body, idempotency }: ApiRequest<unknown, Instruction>) {
  return {
    sessionId: id,
    metadata: body.refund_metadata ?? {},
    instruction: {
      lines: (body.line_items ?? []).map((line) => ({
        item:
          line.price === undefined
            ? { case: 'productId' as const, value: line.product ?? '' }
            : { case: 'priceId' as const, value: line.price },
        amountCents: cents(line.amount_to_refund),
      })),
      methods: (body.payment_methods ?? []).map((method) => ({
        paymentMethodId: method.payment_method_id,
        amountCents: cents(method.amount),
      })),
      ...given({
        amountCents: cents(body.amount),
        taxCents: cents(body.amount_tax),
        shippingCents: cents(body.amount_shipping),
        discountCents: cents(body.amount_discount),
      }),
    },
    ...given({ idempotency }),
  };
}
