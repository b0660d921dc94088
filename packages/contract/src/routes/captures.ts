import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { listQuery, queryReference } from '../query.ts';
import { defineRoute } from '../route.ts';

const expansion = expansionOfRecord('capture');

export const captureRoutes = {
  list: defineRoute({
    id: 'captures.list',
    summary: 'List captures, newest first',
    method: 'GET',
    path: '/v1/captures',
    scope: 'captures_read',
    owner: 'checkout',
    query: listQuery('capture', {
      checkout_session: queryReference('checkout_session').optional(),
      payment_intent: queryReference('payment_intent').optional(),
    }),
    response: listOf('capture'),
    expansion,
    violations: ['checkout_session_not_found', 'payment_intent_not_found'],
  }),
  get: defineRoute({
    id: 'captures.get',
    summary: 'Read a capture',
    method: 'GET',
    path: '/v1/captures/{id}',
    params: { id: 'capture' },
    scope: 'captures_read',
    owner: 'checkout',
    response: oneOf('capture'),
    expansion,
  }),
};
