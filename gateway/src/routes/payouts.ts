import { routes } from '@eligo/contract';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { moneyCall } from '../http/call-budget.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Payouts: read only, but for the helper that makes one in test mode. */
export function payoutBindings({ refunds }: Peers, answers: Answers): Binding[] {
  const { list, get } = routes.payouts;
  return [
    bind(list, async (request) => {
      const page = await refunds.listPayouts({ page: pageOf(request.query) }, request.call);
      return answers.list(request, 'payout', page.payouts, page.hasMore);
    }),
    bind(get, async (request) =>
      answers.one(request, 'payout', await refunds.getPayout({ id: request.id }, request.call)),
    ),
    bind(routes.testHelpers.createPayout, async (request) =>
      answers.one(request, 'payout', await refunds.createTestPayout({}, moneyCall(request.call))),
    ),
  ];
}
