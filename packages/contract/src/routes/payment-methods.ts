import { z } from 'zod';
import { expansionOfRecord, oneOf } from '../answers.ts';
import { reference } from '../fields.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'payment_method' } as const;
const expansion = expansionOfRecord('payment_method');

export const paymentMethodRoutes = {
  get: defineRoute({
    id: 'payment_methods.get',
    summary: 'Read a payment method',
    method: 'GET',
    path: '/v1/payment_methods/{id}',
    params,
    scope: 'payment_methods_read',
    owner: 'checkout',
    response: oneOf('payment_method'),
    expansion,
  }),
  update: defineRoute({
    id: 'payment_methods.update',
    summary: 'State whether a card is an HSA or FSA card',
    method: 'PATCH',
    path: '/v1/payment_methods/{id}',
    params,
    scope: 'payment_methods_write',
    owner: 'checkout',
    body: {
      envelope: 'payment_method',
      schema: z.object({ card: z.object({ hsa_fsa: z.boolean().optional() }).optional() }),
    },
    response: oneOf('payment_method'),
    expansion,
    errors: ['conflict'],
  }),
  attach: defineRoute({
    id: 'payment_methods.attach',
    summary: 'Attach a payment method to a customer',
    method: 'POST',
    path: '/v1/payment_methods/{id}/attach',
    params,
    scope: 'payment_methods_write',
    owner: 'checkout',
    body: { envelope: 'payment_method', schema: z.object({ customer: reference('customer') }) },
    response: oneOf('payment_method'),
    expansion,
    errors: [
      'payment_method_in_use',
      'conflict',
      // The processor may ask the card's bank before it keeps the card for a customer.
      'card_declined',
      'payment_method_from_another_processor',
      'processor_not_configured',
    ],
    violations: ['customer_not_found'],
  }),
  detach: defineRoute({
    id: 'payment_methods.detach',
    summary: 'Detach a payment method from its customer',
    method: 'POST',
    path: '/v1/payment_methods/{id}/detach',
    params,
    scope: 'payment_methods_write',
    owner: 'checkout',
    response: oneOf('payment_method'),
    expansion,
  }),
};
