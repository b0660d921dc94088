import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { awaitSubscription } from '../await-subscription.ts';
import { type Binding, bind } from '../bind.ts';
import { moneyCall } from '../http/call-budget.ts';
import { pageOf, timeMs } from '../messages.ts';
import type { Peers } from '../peers.ts';
import { addressOf } from './customers.ts';

/** What only test keys can do: cards, a shopper's part, the processor's word on a refund, and clocks. */
export function testHelperBindings(peers: Peers, answers: Answers): Binding[] {
  const { checkout, refunds, billing } = peers;
  const helpers = routes.testHelpers;
  return [
    bind(helpers.createPaymentMethod, async (request) => {
      const { customer, card, off_session } = request.body;
      const message = { card, ...given({ customerId: customer, offSession: off_session }) };
      return answers.one(request, 'payment_method', await checkout.createTestPaymentMethod(message, request.call));
    }),
    bind(helpers.completeSession, async (request) => {
      const { payment_method, second_payment_method, letter, shipping_details, ...slots } = request.body;
      const message = {
        id: request.id,
        ...given({
          paymentMethod: payment_method,
          secondPaymentMethod: second_payment_method,
          paymentMethodSlot: slots.payment_method_slot,
          secondPaymentMethodSlot: slots.second_payment_method_slot,
          letter,
          shippingDetails: shipping_details === undefined ? undefined : addressOf(shipping_details),
        }),
      };
      const startedAt = performance.now();
      const session = await checkout.completeSession(message, moneyCall(request.call));
      await awaitSubscription(peers, session, request.call, performance.now() - startedAt);
      return answers.one(request, 'checkout_session', session);
    }),
    bind(helpers.expireSession, async (request) =>
      answers.one(
        request,
        'checkout_session',
        await checkout.expireSession({ id: request.id }, moneyCall(request.call)),
      ),
    ),
    bind(helpers.failRefund, async (request) => {
      const refund = await refunds.settleTestRefund({ id: request.id, succeed: false }, request.call);
      return answers.one(request, 'refund', refund);
    }),
    bind(helpers.succeedRefund, async (request) => {
      const refund = await refunds.settleTestRefund({ id: request.id, succeed: true }, request.call);
      return answers.one(request, 'refund', refund);
    }),
    bind(helpers.approveLetter, async (request) => {
      const letter = await checkout.decideTestLetter({ id: request.id, approve: true }, moneyCall(request.call));
      return answers.one(request, 'letter', letter);
    }),
    bind(helpers.denyLetter, async (request) => {
      const letter = await checkout.decideTestLetter({ id: request.id, approve: false }, moneyCall(request.call));
      return answers.one(request, 'letter', letter);
    }),
    bind(helpers.createTestClock, async (request) => {
      const { frozen_time, name } = request.body;
      const message = { frozenTimeMs: timeMs(frozen_time), ...given({ name }) };
      return answers.one(request, 'test_clock', await billing.createTestClock(message, request.call));
    }),
    bind(helpers.getTestClock, async (request) =>
      answers.one(request, 'test_clock', await billing.getTestClock({ id: request.id }, request.call)),
    ),
    bind(helpers.listTestClocks, async (request) => {
      const { testClocks, hasMore } = await billing.listTestClocks({ page: pageOf(request.query) }, request.call);
      return answers.list(request, 'test_clock', testClocks, hasMore);
    }),
    bind(helpers.advanceTestClock, async (request) => {
      const message = { id: request.id, frozenTimeMs: timeMs(request.body.frozen_time) };
      return answers.one(request, 'test_clock', await billing.advanceTestClock(message, moneyCall(request.call)));
    }),
    bind(helpers.deleteTestClock, async (request) =>
      answers.one(request, 'test_clock', await billing.deleteTestClock({ id: request.id }, request.call)),
    ),
  ];
}
