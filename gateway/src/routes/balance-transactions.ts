import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Movements on the balance: read only. */
export function balanceTransactionBindings({ refunds }: Peers, answers: Answers): Binding[] {
  const { list, get } = routes.balanceTransactions;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const filters = given({
        type: query.type,
        sourceId: query.source,
        checkoutSessionId: query.checkout_session,
        payoutId: query.payout,
      });
      const page = await refunds.listBalanceTransactions({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'balance_transaction', page.balanceTransactions, page.hasMore);
    }),
    bind(get, async (request) => {
      const transaction = await refunds.getBalanceTransaction({ id: request.id }, request.call);
      return answers.one(request, 'balance_transaction', transaction);
    }),
  ];
}
