import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { listQuery } from '../query.ts';
import { defineRoute } from '../route.ts';

const expansion = expansionOfRecord('payout');

export const payoutRoutes = {
  list: defineRoute({
    id: 'payouts.list',
    summary: 'List payouts, newest first',
    method: 'GET',
    path: '/v1/payouts',
    scope: 'payouts_read',
    owner: 'refunds',
    query: listQuery('payout', {}),
    response: listOf('payout'),
    expansion,
  }),
  get: defineRoute({
    id: 'payouts.get',
    summary: 'Read a payout',
    method: 'GET',
    path: '/v1/payouts/{id}',
    params: { id: 'payout' },
    scope: 'payouts_read',
    owner: 'refunds',
    response: oneOf('payout'),
    expansion,
  }),
};
