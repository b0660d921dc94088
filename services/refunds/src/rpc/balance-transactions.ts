import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import type { Implementation } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { balanceTransactionMessage } from '../messages/balance-transaction.ts';
import { findBalanceTransactions, listBalanceTransactions } from '../store/balance-transaction-list.ts';

/** Balance transactions as the gateway asks for them. */
export function balanceTransactionHandlers({
  database,
}: Pick<Context, 'database'>): Implementation<typeof RefundsService> {
  return {
    async getBalanceTransaction({ id }, { scope }) {
      const [transaction] = await findBalanceTransactions(database, scope, [id]);
      if (transaction === undefined) throw new Failure('balance_transaction_not_found');
      return balanceTransactionMessage(transaction, scope.testMode);
    },
    async batchGetBalanceTransactions({ ids }, { scope }) {
      const found = await findBalanceTransactions(database, scope, ids);
      return { balanceTransactions: found.map((one) => balanceTransactionMessage(one, scope.testMode)) };
    },
    async listBalanceTransactions({ page, type, sourceId, checkoutSessionId, payoutId }, { scope }) {
      const filter = { type, sourceId, checkoutSessionId, payoutId };
      const { transactions, hasMore } = await listBalanceTransactions(database, scope, filter, pageOf(page));
      const balanceTransactions = transactions.map((one) => balanceTransactionMessage(one, scope.testMode));
      return { balanceTransactions, hasMore };
    },
  };
}
