import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { listQuery, queryReference, queryText } from '../query.ts';
import { balanceTransactionTypes } from '../resources/balance-transaction.ts';
import { defineRoute } from '../route.ts';

export const balanceTransactionRoutes = {
  list: defineRoute({
    id: 'balance_transactions.list',
    summary: 'List balance transactions, newest first',
    method: 'GET',
    path: '/v1/balance_transactions',
    scope: 'balance_transactions_read',
    owner: 'refunds',
    query: listQuery('balance_transaction', {
      type: z.enum(balanceTransactionTypes).optional(),
      source: queryText.optional(),
      checkout_session: queryReference('checkout_session').optional(),
      payout: queryReference('payout').optional(),
    }),
    response: listOf('balance_transaction'),
    violations: ['checkout_session_not_found', 'payout_not_found'],
  }),
  get: defineRoute({
    id: 'balance_transactions.get',
    summary: 'Read a balance transaction',
    method: 'GET',
    path: '/v1/balance_transactions/{id}',
    params: { id: 'balance_transaction' },
    scope: 'balance_transactions_read',
    owner: 'refunds',
    response: oneOf('balance_transaction'),
  }),
};
