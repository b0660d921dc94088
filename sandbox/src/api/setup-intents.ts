import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { Refusal } from '../refusal.ts';
import { needCard } from '../shapes/card.ts';
import { shape } from '../shapes/shape.ts';
import { randomText } from '../store/ids.ts';
import type { LastError, SetupIntentRecord } from '../store/record-types.ts';
import { takeConfirmationToken } from './confirmation-tokens.ts';
import { needCustomer } from './customers.ts';
import { needsAuthentication } from './intent-confirmation.ts';
import { readCardOptions } from './payment-intents.ts';
import { usablePaymentMethod } from './payment-methods.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const setupIntentRoutes: Route[] = [
  { method: 'POST', path: '/v1/setup_intents', call: 'setup_intents.create', prepare: createSetupIntent },
  { method: 'GET', path: '/v1/setup_intents', call: 'setup_intents.list', prepare: listSetupIntents },
  { method: 'GET', path: '/v1/setup_intents/:id', call: 'setup_intents.retrieve', prepare: retrieveSetupIntent },
  { method: 'POST', path: '/v1/setup_intents/:id/confirm', call: 'setup_intents.confirm', prepare: confirmSetup },
  { method: 'POST', path: '/v1/setup_intents/:id/cancel', call: 'setup_intents.cancel', prepare: cancelSetup },
];

function createSetupIntent(parameters: Parameters) {
  const customer = parameters.text('customer');
  const paymentMethod = parameters.text('payment_method');
  const usage = parameters.oneOf('usage', ['off_session', 'on_session'] as const) ?? 'off_session';
  const description = parameters.clearableText('description') ?? null;
  const metadata = mergedMetadata({}, parameters.metadata());
  const confirmNow = parameters.boolean('confirm') ?? false;
  const { threeDSecure } = readCardOptions(parameters);
  const returnUrl = parameters.text('return_url') ?? null;
  // The older name of the same, which older clients send.
  parameters.list('payment_method_types');
  parameters.list('allowed_payment_method_types');
  parameters.list('excluded_payment_method_types');
  parameters.raw('automatic_payment_methods');
  parameters.boolean('use_stripe_sdk');
  parameters.finish();
  return (call: Call) => {
    if (customer !== undefined) needCustomer(call, customer, 'customer');
    const method = paymentMethod === undefined ? undefined : usablePaymentMethod(call, paymentMethod, customer ?? null);
    const setup: SetupIntentRecord = {
      id: call.newId('seti'),
      account: call.account,
      created: call.at,
      status: method === undefined ? 'requires_payment_method' : 'requires_confirmation',
      customer: customer ?? null,
      paymentMethod: method?.id ?? null,
      usage,
      threeDSecure,
      description,
      returnUrl,
      lastError: null,
      cancellationReason: null,
      secret: randomText(25),
      metadata,
    };
    call.records.insert('setup_intent', setup, setup.customer ?? undefined);
    call.emit('setup_intent.created', 'setup_intent', setup);
    return shape('setup_intent', confirmNow ? confirmSetupIntent(call, setup) : setup);
  };
}

function listSetupIntents(parameters: Parameters) {
  const query = { ...pageQuery(parameters), parent: parameters.text('customer') };
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/setup_intents', call.records.page('setup_intent', call.account, query), (record) =>
      shape('setup_intent', record),
    );
}

function retrieveSetupIntent(parameters: Parameters) {
  parameters.text('client_secret');
  parameters.finish();
  return (call: Call) => shape('setup_intent', needSetup(call));
}

function confirmSetup(parameters: Parameters) {
  const paymentMethod = parameters.text('payment_method');
  const token = parameters.text('confirmation_token');
  const returnUrl = parameters.text('return_url');
  parameters.text('client_secret');
  parameters.boolean('use_stripe_sdk');
  parameters.finish();
  return (call: Call) => {
    const known = needSetup(call);
    const over = known.status === 'succeeded' || known.status === 'canceled';
    const method =
      over || paymentMethod === undefined ? undefined : usablePaymentMethod(call, paymentMethod, known.customer);
    const made =
      over || token === undefined ? undefined : takeConfirmationToken(call, token, { setupIntent: known.id });
    const setup = {
      ...known,
      paymentMethod: method?.id ?? made?.method.id ?? known.paymentMethod,
      returnUrl: returnUrl ?? known.returnUrl,
    };
    return shape('setup_intent', confirmSetupIntent(call, setup));
  };
}

function cancelSetup(parameters: Parameters) {
  const reason = parameters.oneOf('cancellation_reason', ['abandoned', 'duplicate', 'requested_by_customer'] as const);
  parameters.finish();
  return (call: Call) => {
    const known = needSetup(call);
    if (known.status === 'succeeded' || known.status === 'canceled') {
      throw unexpectedSetupState(
        known,
        `You cannot cancel this SetupIntent because it has a status of ${known.status}.`,
      );
    }
    const setup: SetupIntentRecord = { ...known, status: 'canceled', cancellationReason: reason ?? null };
    call.records.update('setup_intent', setup);
    call.emit('setup_intent.canceled', 'setup_intent', setup);
    return shape('setup_intent', setup);
  };
}

/** Asks the issuer whether the card may be used later, and attaches it to the customer. */
export function confirmSetupIntent(call: Call, setup: SetupIntentRecord, authenticated = false): SetupIntentRecord {
  if (setup.status === 'succeeded' || setup.status === 'canceled') {
    throw unexpectedSetupState(
      setup,
      `You cannot confirm this SetupIntent because it has a status of ${setup.status}.`,
    );
  }
  if (setup.paymentMethod === null) {
    throw unexpectedSetupState(setup, 'You cannot confirm this SetupIntent because it is missing a payment method.');
  }
  const method = call.records.need('payment_method', call.account, setup.paymentMethod, 'payment_method', 400);
  const { behaviour } = needCard(method.card);
  if (needsAuthentication(behaviour, setup.threeDSecure) && !authenticated) {
    const waiting: SetupIntentRecord = { ...setup, status: 'requires_action' };
    call.records.update('setup_intent', waiting);
    call.emit('setup_intent.requires_action', 'setup_intent', waiting);
    return waiting;
  }
  if (behaviour.kind === 'decline') {
    const error: LastError = {
      type: 'card_error',
      code: behaviour.code,
      decline_code: behaviour.declineCode,
      message: behaviour.message,
      payment_method: shape('payment_method', method),
    };
    const failed: SetupIntentRecord = {
      ...setup,
      status: 'requires_payment_method',
      paymentMethod: null,
      lastError: error,
    };
    call.records.update('setup_intent', failed);
    call.emit('setup_intent.setup_failed', 'setup_intent', failed);
    throw new Refusal(402, { ...error, setup_intent: shape('setup_intent', failed) });
  }
  if (setup.customer !== null && method.customer === null) {
    const attached = { ...method, customer: setup.customer };
    call.records.update('payment_method', attached, setup.customer);
    call.emit('payment_method.attached', 'payment_method', attached);
  }
  const done: SetupIntentRecord = { ...setup, status: 'succeeded', lastError: null };
  call.records.update('setup_intent', done);
  call.emit('setup_intent.succeeded', 'setup_intent', done);
  return done;
}

function needSetup(call: Call): SetupIntentRecord {
  return call.records.need('setup_intent', call.account, call.id, 'intent');
}

function unexpectedSetupState(setup: SetupIntentRecord, message: string): Refusal {
  return new Refusal(400, {
    type: 'invalid_request_error',
    code: 'setup_intent_unexpected_state',
    message,
    setup_intent: shape('setup_intent', setup),
  });
}
