import type Stripe from 'stripe';
import type { Caller } from './call.ts';
import { setupOutcome } from './facts.ts';
import type { Search, SetupOutcome } from './outcomes.ts';
import type { ProcessorPort } from './port.ts';
import { cardOptions, paramsOf } from './sdk-parameters.ts';

/** The newest set-up intents of a customer that a look-up reads: it looks for one that was made a moment ago. */
const setupPage = 100;

/** The calls of the port that set cards up. */
export function setupCalls({
  stripe,
  call,
}: {
  readonly stripe: Stripe;
  readonly call: Caller;
}): Pick<
  ProcessorPort,
  'createSetupIntent' | 'confirmSetupIntent' | 'retrieveSetupIntent' | 'cancelSetupIntent' | 'findSetupIntent'
> {
  return {
    createSetupIntent: (input, options) =>
      call(
        'setup_intents.create',
        options,
        (request) =>
          stripe.setupIntents.create(
            paramsOf<Stripe.SetupIntentCreateParams>({
              customer: input.customer,
              payment_method: input.paymentMethod,
              allowed_payment_method_types: ['card'],
              usage: 'off_session' as const,
              payment_method_options: cardOptions<Stripe.SetupIntentCreateParams.PaymentMethodOptions.Card>({
                request_three_d_secure: input.threeDSecure,
              }),
              metadata: { ...input.metadata },
            }),
            request,
          ),
        setupOutcome,
      ),
    confirmSetupIntent: (id, input, options) =>
      call(
        'setup_intents.confirm',
        options,
        (request) =>
          stripe.setupIntents.confirm(
            id,
            paramsOf<Stripe.SetupIntentConfirmParams>({
              payment_method: input.paymentMethod,
              confirmation_token: input.confirmationToken,
            }),
            request,
          ),
        setupOutcome,
      ),
    cancelSetupIntent: (id, options) =>
      call('setup_intents.cancel', options, (request) => stripe.setupIntents.cancel(id, {}, request), setupOutcome),
    retrieveSetupIntent: (id, options) =>
      call('setup_intents.retrieve', options, (request) => stripe.setupIntents.retrieve(id, {}, request), setupOutcome),
    findSetupIntent: (customer, name, options) =>
      call<Stripe.ApiList<Stripe.SetupIntent>, Search<SetupOutcome>>(
        'setup_intents.list',
        options,
        (request) => stripe.setupIntents.list({ customer, limit: setupPage }, request),
        ({ data }) => {
          const setup = data.find(({ metadata }) => metadata?.setup_intent === name);
          return setup === undefined ? { kind: 'none' } : setupOutcome(setup);
        },
      ),
  };
}
