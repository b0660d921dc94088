import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { moneyCall } from '../http/call-budget.ts';
import { cents, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

export function refundBindings({ refunds }: Peers, answers: Answers): Binding[] {
  const { create, list, get, update } = routes.refunds;
  return [
    bind(create, async (request) => {
      const { payment_intent_id, amount, reason, metadata = {} } = request.body;
      const { idempotency } = request;
      const message = {
        paymentIntentId: payment_intent_id,
        metadata,
        ...given({ amountCents: cents(amount), reason, idempotency }),
      };
      return answers.one(request, 'refund', await refunds.createRefund(message, moneyCall(request.call)));
    }),
    bind(list, async (request) => {
      const { query, call } = request;
      const filters = given({ paymentIntentId: query.payment_intent, checkoutSessionId: query.checkout_session });
      const page = await refunds.listRefunds({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'refund', page.refunds, page.hasMore);
    }),
    bind(get, async (request) =>
      answers.one(request, 'refund', await refunds.getRefund({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { reason, metadata } = request.body;
      const message = {
        id: request.id,
        metadata: metadata ?? {},
        replaceMetadata: metadata !== undefined,
        ...given({ reason }),
      };
      return answers.one(request, 'refund', await refunds.updateRefund(message, request.call));
    }),
  ];
}
