import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { listQuery, queryReference } from '../query.ts';
import { letterStatuses } from '../resources/letter.ts';
import { defineRoute } from '../route.ts';

const expansion = expansionOfRecord('letter');

export const letterRoutes = {
  list: defineRoute({
    id: 'letters.list',
    summary: 'List letters of medical necessity, newest first',
    method: 'GET',
    path: '/v1/letters',
    scope: 'letters_read',
    owner: 'checkout',
    query: listQuery('letter', {
      customer: queryReference('customer').optional(),
      checkout_session: queryReference('checkout_session').optional(),
      status: z.enum(letterStatuses).optional(),
    }),
    response: listOf('letter'),
    expansion,
    violations: ['customer_not_found', 'checkout_session_not_found'],
  }),
  get: defineRoute({
    id: 'letters.get',
    summary: 'Read a letter of medical necessity',
    method: 'GET',
    path: '/v1/letters/{id}',
    params: { id: 'letter' },
    scope: 'letters_read',
    owner: 'checkout',
    response: oneOf('letter'),
    expansion,
  }),
};
