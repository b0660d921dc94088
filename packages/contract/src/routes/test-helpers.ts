import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { address, clockTime, reference, requiredText, sum, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery } from '../query.ts';
import { defineRoute } from '../route.ts';

/** The cards of the sandbox, by what they do (decisions 12). */
export const testCards = [
  'hsa',
  'fsa',
  'credit',
  'debit',
  'undescribed',
  'single_capture',
  'authentication_supported',
  'declined',
  'insufficient_funds',
  'hsa_short',
  'authentication_required',
  'expired_card',
  'dispute',
  'refund_pending',
  'refund_fails',
] as const;

/** Where a shopper puts a card on the checkout page: "HSA or FSA card", or "Other card". */
const cardSlots = ['health', 'other'] as const;

const sessionParams = { id: 'checkout_session' } as const;
const clockParams = { id: 'test_clock' } as const;
const sessionExpansion = expansionOfRecord('checkout_session');

/** A payment method's id or a card's name. */
const methodOrCard = z.union([z.enum(testCards), reference('payment_method')], {
  error: `Must be a payment method's identifier or one of ${testCards.join(', ')}`,
});

export const testHelperRoutes = {
  createPaymentMethod: defineRoute({
    id: 'test_helpers.create_payment_method',
    summary: 'Create a payment method from a test card',
    method: 'POST',
    path: '/v1/test_helpers/payment_methods',
    scope: 'payment_methods_write',
    owner: 'checkout',
    testOnly: true,
    body: {
      envelope: 'payment_method',
      schema: z.object({
        customer: reference('customer').optional(),
        card: z.enum(testCards),
        off_session: z.boolean().optional(),
      }),
    },
    response: oneOf('payment_method'),
    expansion: expansionOfRecord('payment_method'),
    violations: ['customer_not_found'],
  }),
  completeSession: defineRoute({
    id: 'test_helpers.complete_checkout_session',
    summary: 'Complete a session as a shopper does on the checkout page',
    method: 'POST',
    path: '/v1/test_helpers/checkout/sessions/{id}/complete',
    params: sessionParams,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    testOnly: true,
    body: {
      envelope: 'checkout_session',
      optional: true,
      // Decisions 12 writes it without the envelope, 13 with it.
      bare: true,
      schema: z.object({
        payment_method: methodOrCard.optional(),
        second_payment_method: methodOrCard.optional(),
        payment_method_slot: z.enum(cardSlots).optional(),
        second_payment_method_slot: z.enum(cardSlots).optional(),
        letter: text(limits.shortTextLength).optional(),
        shipping_details: address.optional(),
      }),
    },
    response: oneOf('checkout_session'),
    expansion: sessionExpansion,
    errors: [
      'card_declined',
      'authentication_required',
      'checkout_amount_too_low',
      'checkout_session_already_processed',
      'checkout_session_expired',
      'checkout_session_canceled',
      'checkout_session_payment_tries_exceeded',
      'other_payment_method_required',
      'customer_not_found',
    ],
    violations: ['payment_method_not_found'],
  }),
  expireSession: defineRoute({
    id: 'test_helpers.expire_checkout_session',
    summary: 'Expire a session now',
    method: 'POST',
    path: '/v1/test_helpers/checkout/sessions/{id}/expire',
    params: sessionParams,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    testOnly: true,
    response: oneOf('checkout_session'),
    expansion: sessionExpansion,
    errors: ['checkout_session_not_open'],
  }),
  failRefund: settleRefund('fail', 'Make a pending refund fail'),
  succeedRefund: settleRefund('succeed', 'Make a pending refund succeed'),
  approveLetter: decideLetter('approve', 'Approve a letter of medical necessity'),
  denyLetter: decideLetter('deny', 'Deny a letter of medical necessity'),
  createDispute: defineRoute({
    id: 'test_helpers.create_dispute',
    summary: 'Dispute a charge as the bank of its card does',
    method: 'POST',
    path: '/v1/test_helpers/disputes',
    scope: 'disputes_write',
    owner: 'refunds',
    testOnly: true,
    body: {
      envelope: 'dispute',
      schema: z.object({
        charge: reference('charge'),
        amount: sum.min(1).optional(),
        reason: text(limits.shortTextLength).optional(),
        inquiry: z.boolean().optional(),
      }),
    },
    response: oneOf('dispute'),
    errors: ['conflict'],
    violations: ['charge_not_found'],
  }),
  createPayout: defineRoute({
    id: 'test_helpers.create_payout',
    summary: 'Pay out the balance, also what is not available yet',
    method: 'POST',
    path: '/v1/test_helpers/payouts',
    scope: 'payouts_write',
    owner: 'refunds',
    testOnly: true,
    response: oneOf('payout'),
    expansion: expansionOfRecord('payout'),
    errors: ['conflict'],
  }),
  createTestClock: defineRoute({
    id: 'test_clocks.create',
    summary: 'Create a test clock',
    method: 'POST',
    path: '/v1/test_helpers/test_clocks',
    scope: 'test_clocks_write',
    owner: 'billing',
    testOnly: true,
    body: {
      envelope: 'test_clock',
      schema: z.object({ frozen_time: clockTime, name: requiredText(limits.shortTextLength).optional() }),
    },
    response: oneOf('test_clock'),
  }),
  listTestClocks: defineRoute({
    id: 'test_clocks.list',
    summary: 'List test clocks, newest first',
    method: 'GET',
    path: '/v1/test_helpers/test_clocks',
    scope: 'test_clocks_read',
    owner: 'billing',
    testOnly: true,
    query: listQuery('test_clock', {}),
    response: listOf('test_clock'),
  }),
  getTestClock: defineRoute({
    id: 'test_clocks.get',
    summary: 'Read a test clock',
    method: 'GET',
    path: '/v1/test_helpers/test_clocks/{id}',
    params: clockParams,
    scope: 'test_clocks_read',
    owner: 'billing',
    testOnly: true,
    response: oneOf('test_clock'),
  }),
  advanceTestClock: defineRoute({
    id: 'test_clocks.advance',
    summary: 'Advance a test clock',
    method: 'POST',
    path: '/v1/test_helpers/test_clocks/{id}/advance',
    params: clockParams,
    scope: 'test_clocks_write',
    owner: 'billing',
    testOnly: true,
    body: { envelope: 'test_clock', schema: z.object({ frozen_time: clockTime }) },
    response: oneOf('test_clock'),
    errors: ['test_clock_cannot_go_back'],
  }),
  deleteTestClock: defineRoute({
    id: 'test_clocks.delete',
    summary: 'Delete a test clock',
    method: 'DELETE',
    path: '/v1/test_helpers/test_clocks/{id}',
    params: clockParams,
    scope: 'test_clocks_write',
    owner: 'billing',
    testOnly: true,
    response: oneOf('test_clock'),
  }),
};

function settleRefund(verb: 'fail' | 'succeed', summary: string) {
  return defineRoute({
    id: `test_helpers.${verb}_refund`,
    summary,
    method: 'POST',
    path: `/v1/test_helpers/refunds/{id}/${verb}`,
    params: { id: 'refund' },
    scope: 'refunds_write',
    owner: 'refunds',
    testOnly: true,
    response: oneOf('refund'),
    errors: ['refund_not_pending'],
  });
}

function decideLetter(verb: 'approve' | 'deny', summary: string) {
  return defineRoute({
    id: `test_helpers.${verb}_letter`,
    summary,
    method: 'POST',
    path: `/v1/test_helpers/letters/{id}/${verb}`,
    params: { id: 'letter' },
    scope: 'letters_write',
    owner: 'checkout',
    testOnly: true,
    response: oneOf('letter'),
    expansion: expansionOfRecord('letter'),
    errors: ['letter_not_in_review'],
  });
}
