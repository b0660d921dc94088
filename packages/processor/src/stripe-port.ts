import { ownAccount, type ProcessorAccount } from '@eligo/values';
import type Stripe from 'stripe';
import { balanceCalls } from './balance-calls.ts';
import type { Caller } from './call.ts';
import { captureMark, captureParts } from './capture-references.ts';
import { disputeCalls } from './dispute-calls.ts';
import { intentOfError } from './error-outcome.ts';
import { readEvent } from './events/read-event.ts';
import {
  chargeFacts,
  confirmationTokenFacts,
  intentFacts,
  intentOutcome,
  paymentMethodFacts,
  refundOutcome,
} from './facts.ts';
import { healthcareMetadata } from './healthcare.ts';
import type { BillingDetails, IntentOutcome, RefundOutcome, Search } from './outcomes.ts';
import type { EventPage, IntentInput, ProcessorPort, TestBank } from './port.ts';
import { respondedAt } from './responded-at.ts';
import { cardOptions, paramsOf } from './sdk-parameters.ts';
import { setupCalls } from './setup-calls.ts';
import { withoutDecline } from './without-decline.ts';

export interface StripePortParts {
  readonly account: ProcessorAccount;
  readonly stripe: Stripe;
  readonly call: Caller;
  readonly isDown: () => boolean;
  readonly testBank: TestBank | undefined;
}

/** Refunds of one intent that a look-up reads; more than any session has. */
const refundPage = 100;

/** The charge of an intent, which says until when it is held. */
const withCharge = ['latest_charge'];

/** The most that the processor gives at once. */
const eventPage = 100;

/** A page of a search that found nothing, with others behind it. */
interface MorePages {
  readonly kind: 'more';
  readonly after: string;
}

/** The port on the official SDK: pointed at Stripe, or at the sandbox, which speaks the same. */
export function createStripePort(parts: StripePortParts): ProcessorPort {
  const { stripe, call, account } = parts;
  return {
    name: account.processor,
    processorAccount: account.account === ownAccount ? undefined : account.account,
    account,
    asksForParts: isSandbox(account),
    refundsByCapture: isSandbox(account),
    isDown: parts.isDown,
    testBank: parts.testBank,

    createCustomer: (input, options) =>
      call(
        'customers.create',
        options,
        (request) =>
          stripe.customers.create(
            paramsOf<Stripe.CustomerCreateParams>({ ...input, metadata: { ...input.metadata } }),
            request,
          ),
        (customer) => ({ kind: 'found' as const, customerId: customer.id }),
      ).then(withoutDecline),

    createPaymentMethod: (input, options) =>
      call(
        'payment_methods.create',
        options,
        (request) => stripe.paymentMethods.create(paymentMethodParams(input.token, input.billing), request),
        foundPaymentMethod,
      ),
    retrievePaymentMethod: (id, options) =>
      call(
        'payment_methods.retrieve',
        options,
        (request) => stripe.paymentMethods.retrieve(id, {}, request),
        foundPaymentMethod,
      ),
    attachPaymentMethod: (id, customer, options) =>
      call(
        'payment_methods.attach',
        options,
        (request) => stripe.paymentMethods.attach(id, { customer }, request),
        foundPaymentMethod,
      ),
    detachPaymentMethod: (id, options) =>
      call(
        'payment_methods.detach',
        options,
        (request) => stripe.paymentMethods.detach(id, {}, request),
        foundPaymentMethod,
      ),

    retrieveConfirmationToken: (id, options) =>
      call(
        'confirmation_tokens.retrieve',
        options,
        (request) => stripe.confirmationTokens.retrieve(id, {}, request),
        (token) => ({ kind: 'found' as const, ...confirmationTokenFacts(token) }),
      ),

    createIntent: (input, options) =>
      call(
        'payment_intents.create',
        options,
        (request) => stripe.paymentIntents.create(intentParams(input, account), request),
        (intent) => ({ kind: 'created' as const, ...intentFacts(intent) }),
      ),
    confirmIntent: (id, input, options) =>
      call<Stripe.PaymentIntent, IntentOutcome>(
        'payment_intents.confirm',
        options,
        (request) =>
          stripe.paymentIntents.confirm(
            id,
            paramsOf<Stripe.PaymentIntentConfirmParams>({
              payment_method: input.paymentMethod,
              confirmation_token: input.confirmationToken,
              off_session: input.offSession ? true : undefined,
              mandate: input.offSession ? input.mandate : undefined,
              return_url: input.returnUrl,
              expand: input.isHold || input.keepsCard ? withCharge : undefined,
            }),
            request,
          ),
        intentOutcome,
        whatItStandsAt,
      ),
    retrieveIntent: (id, options) =>
      call<Stripe.PaymentIntent, IntentOutcome>(
        'payment_intents.retrieve',
        options,
        (request) => stripe.paymentIntents.retrieve(id, { expand: withCharge }, request),
        intentOutcome,
      ),
    captureIntent: (id, input, options) =>
      call<Stripe.PaymentIntent, IntentOutcome>(
        'payment_intents.capture',
        options,
        (request) =>
          stripe.paymentIntents.capture(
            id,
            // `final_capture=true` is Stripe's default, and is refused where multicapture is not available.
            paramsOf<Stripe.PaymentIntentCaptureParams>({
              amount_to_capture: input.amountCents,
              final_capture: input.finalCapture ? undefined : false,
              metadata: isSandbox(account) ? captureMark(input) : undefined,
            }),
            request,
          ),
        intentOutcome,
        whatItStandsAt,
      ),
    cancelIntent: (id, options) =>
      call<Stripe.PaymentIntent, IntentOutcome>(
        'payment_intents.cancel',
        options,
        (request) => stripe.paymentIntents.cancel(id, {}, request),
        intentOutcome,
        whatItStandsAt,
      ),
    findIntentByMetadata: (key, value, options) =>
      call<Stripe.ApiSearchResult<Stripe.PaymentIntent>, Search<IntentOutcome>>(
        'payment_intents.search',
        options,
        (request) =>
          stripe.paymentIntents.search({ query: `metadata['${plain(key)}']:'${plain(value)}'`, limit: 1 }, request),
        ({ data: [intent] }) => (intent === undefined ? { kind: 'none' } : intentOutcome(intent)),
      ),

    createRefund: (input, options) =>
      call<Stripe.Refund, RefundOutcome>(
        'refunds.create',
        options,
        (request) =>
          stripe.refunds.create(
            paramsOf<Stripe.RefundCreateParams>({
              payment_intent: input.intentId,
              amount: input.amountCents,
              reason: input.reason,
              metadata: {
                ...input.metadata,
                ...(isSandbox(account) ? captureParts(input) : {}),
                refund: input.refundId,
              },
            }),
            request,
          ),
        refundOutcome,
      ).then(withoutDecline),
    retrieveRefund: (id, options) =>
      call<Stripe.Refund, RefundOutcome>(
        'refunds.retrieve',
        options,
        (request) => stripe.refunds.retrieve(id, {}, request),
        refundOutcome,
      ).then(withoutDecline),
    // To the end of the list: "none" allows another refund, and must not be said because there are many.
    async findRefund(intentId, refundId, options) {
      const endsAt = options?.timeoutMs === undefined ? undefined : performance.now() + options.timeoutMs;
      for (let after: string | undefined; ; ) {
        const left = endsAt === undefined ? {} : { timeoutMs: endsAt - performance.now() };
        const page = await call<Stripe.ApiList<Stripe.Refund>, Search<RefundOutcome> | MorePages>(
          'refunds.list',
          { ...options, ...left },
          (request) =>
            stripe.refunds.list(
              paramsOf<Stripe.RefundListParams>({ payment_intent: intentId, limit: refundPage, starting_after: after }),
              request,
            ),
          ({ data, has_more }) => {
            const refund = data.find(({ metadata }) => metadata?.refund === refundId);
            if (refund !== undefined) return refundOutcome(refund);
            const last = data.at(-1);
            return has_more && last !== undefined ? { kind: 'more', after: last.id } : { kind: 'none' };
          },
        ).then(withoutDecline);
        if (page.kind !== 'more') return page;
        after = page.after;
      }
    },

    retrieveCharge: (id, options) =>
      call(
        'charges.retrieve',
        options,
        (request) => stripe.charges.retrieve(id, {}, request),
        (charge) => ({ kind: 'found' as const, ...chargeFacts(charge) }),
      ).then(withoutDecline),
    listEvents: (query, options) =>
      call<Stripe.Response<Stripe.ApiList<Stripe.Event>>, EventPage>(
        'events.list',
        options,
        (request) =>
          stripe.events.list(
            paramsOf<Stripe.EventListParams>({
              types: [...query.types],
              created: { gte: Math.floor(query.from.getTime() / 1_000) },
              limit: eventPage,
              starting_after: query.after,
            }),
            request,
          ),
        (list) => ({
          kind: 'page',
          // One that cannot be read is not handled when it is delivered, either.
          events: list.data.flatMap((event) => readEvent(event) ?? []),
          lastId: list.data.at(-1)?.id,
          hasMore: list.has_more,
          at: respondedAt(list),
        }),
      ).then(withoutDecline),
    ...balanceCalls(parts),
    ...disputeCalls(parts),
    ...setupCalls(parts),
  };
}

/** The parameters of a payment method from a token; also used by the sandbox's test cards. */
export function paymentMethodParams(
  token: string,
  billing: Partial<BillingDetails> | undefined,
  metadata?: Record<string, string>,
): Stripe.PaymentMethodCreateParams {
  return paramsOf<Stripe.PaymentMethodCreateParams>({
    type: 'card',
    card: { token },
    billing_details: billing && paramsOf({ ...billing, address: billing.address && { ...billing.address } }),
    metadata,
  });
}

export function foundPaymentMethod(method: Stripe.PaymentMethod) {
  return { kind: 'found' as const, ...paymentMethodFacts(method) };
}

/** What Stripe takes in US dollars: eight digits. */
const maxAmountCents = 99_999_999;

function intentParams(input: IntentInput, account: ProcessorAccount): Stripe.PaymentIntentCreateParams {
  // Eligo should have refused it before the attempt. A refusal by the processor would look like a decline of the card.
  if (input.amountCents > maxAmountCents) throw new RangeError('The processor does not accept this amount');
  if (input.acceptsPart && (input.capture !== 'manual' || !isSandbox(account))) {
    throw new RangeError('The processor cannot be asked to approve a part of this amount');
  }
  return paramsOf<Stripe.PaymentIntentCreateParams>({
    amount: input.amountCents,
    currency: 'usd',
    capture_method: input.capture,
    customer: input.customer,
    payment_method: input.paymentMethod,
    setup_future_usage: input.keepsCardFor,
    allowed_payment_method_types: ['card'],
    payment_method_options: cardOptions<Stripe.PaymentIntentCreateParams.PaymentMethodOptions.Card>({
      // Several captures of one hold, where the processor has them for this card.
      request_multicapture: input.capture === 'manual' ? 'if_available' : undefined,
      request_three_d_secure: input.threeDSecure,
    }),
    metadata: {
      ...input.metadata,
      ...healthcareMetadata(input.healthcare, input.amountCents),
      ...(input.acceptsPart ? partialMark : {}),
      attempt: input.attemptId,
    },
  });
}

// Outside of Stripe's dialect, which has no parameter for it.
const partialMark = { sandbox_partial_authorization: 'if_available' };

function isSandbox({ processor }: ProcessorAccount): boolean {
  return processor === 'sandbox';
}

/**
 * A call that came too late is refused with the intent as it is. If that one is charged, held, canceled or in flight, this is
 * the answer to what was asked; if it still waits, the refusal is about the request.
 */
function whatItStandsAt(error: unknown): IntentOutcome | undefined {
  const intent = intentOfError(error);
  if (intent === undefined) return undefined;
  const outcome = intentOutcome(intent);
  return outcome.kind === 'confirmable' || outcome.kind === 'declined' ? undefined : outcome;
}

/** What goes between the quotes of a search: ids and names of ours, never a quote. */
function plain(text: string): string {
  if (/^[\w.:-]{1,200}$/.test(text)) return text;
  throw new RangeError('A search accepts only ids and names');
}
