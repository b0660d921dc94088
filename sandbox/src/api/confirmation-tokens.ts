import type { Parameters } from '../http/parameters.ts';
import { invalidRequest, missingRecord } from '../refusal.ts';
import { needCard } from '../shapes/card.ts';
import { shape } from '../shapes/shape.ts';
import type { ConfirmationTokenRecord, PaymentMethodRecord } from '../store/record-types.ts';
import { insertPaymentMethod, readMethodDetails, usablePaymentMethod } from './payment-methods.ts';
import type { Call, Route } from './route.ts';

export const confirmationTokenRoutes: Route[] = [
  { method: 'GET', path: '/v1/confirmation_tokens/:id', call: 'confirmation_tokens.retrieve', prepare: retrieveToken },
  {
    method: 'POST',
    path: '/v1/test_helpers/confirmation_tokens',
    call: 'test_helpers.confirmation_tokens.create',
    prepare: createToken,
  },
];

/** Stripe's lifetime of a token that is not used. */
const lifetimeSeconds = 12 * 60 * 60;

// A browser makes one of what was typed into the Payment Element. This is the call by which Stripe lets a test make one.
function createToken(parameters: Parameters) {
  const paymentMethod = parameters.text('payment_method');
  const given = paymentMethod === undefined ? readNewMethod(parameters) : undefined;
  const returnUrl = parameters.text('return_url') ?? null;
  const setupFutureUsage = parameters.oneOf('setup_future_usage', ['off_session', 'on_session'] as const) ?? null;
  parameters.raw('payment_method_options');
  parameters.raw('shipping');
  parameters.finish();
  return (call: Call) => {
    const method = given === undefined ? usablePaymentMethod(call, paymentMethod ?? '', null) : undefined;
    const token: ConfirmationTokenRecord = {
      id: call.newId('ctoken'),
      account: call.account,
      created: call.at,
      card: method?.card ?? given?.input.card.name ?? '',
      expMonth: method?.expMonth ?? given?.input.expMonth ?? 12,
      expYear: method?.expYear ?? given?.input.expYear ?? new Date(call.nowMs).getUTCFullYear() + 3,
      billingDetails: method?.billingDetails ?? given?.billing,
      expiresAt: call.at + lifetimeSeconds,
      returnUrl,
      setupFutureUsage,
      paymentIntent: null,
      setupIntent: null,
    };
    call.records.insert('confirmation_token', token);
    return shape('confirmation_token', token);
  };
}

/** Notes the `captureMethod` of the Elements that made a token: Stripe's API shows and takes none. */
export function tellToken(call: Call, token: ConfirmationTokenRecord, captureMethod: string): ConfirmationTokenRecord {
  const told = { ...token, captureMethod };
  call.records.update('confirmation_token', told);
  return told;
}

function readNewMethod(parameters: Parameters) {
  const data = parameters.object('payment_method_data');
  if (data === undefined)
    throw invalidRequest('Missing required param: payment_method_data.', {
      param: 'payment_method_data',
      code: 'parameter_missing',
    });
  const details = readMethodDetails(data);
  data.finish();
  return details;
}

function retrieveToken(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('confirmation_token', call.records.need('confirmation_token', call.account, call.id));
}

/** What an intent is confirmed with: a payment method, and whether it is set up for later. */
export interface ConfirmedWith {
  readonly method: PaymentMethodRecord;
  readonly setupFutureUsage: string | undefined;
}

/**
 * Uses a token up for an intent: it makes the payment method that the intent is confirmed with. A token is used once, and not for an intent that says another
 * `setup_future_usage`, or another `capture_method` than the Elements that made the token.
 */
export function takeConfirmationToken(
  call: Call,
  id: string,
  use: { readonly paymentIntent: string } | { readonly setupIntent: string },
  asked: string | null = null,
  captureMethod?: string,
): ConfirmedWith {
  const token = call.records.find('confirmation_token', call.account, id);
  if (token === undefined) throw missingRecord('ConfirmationToken', id.slice(0, 80), 'confirmation_token', 400);
  if (token.paymentIntent !== null || token.setupIntent !== null) {
    throw invalidRequest('This ConfirmationToken has already been used to confirm an intent.', {
      param: 'confirmation_token',
    });
  }
  if (token.expiresAt <= call.at) {
    throw invalidRequest('This ConfirmationToken has expired.', { param: 'confirmation_token' });
  }
  const { expMonth, expYear, billingDetails, setupFutureUsage } = token;
  if (asked !== null && setupFutureUsage !== null && setupFutureUsage !== asked) {
    const message = `The setup_future_usage of this ConfirmationToken is ${setupFutureUsage}, and that of the intent is ${asked}.`;
    throw invalidRequest(message, { param: 'confirmation_token' });
  }
  if (captureMethod !== undefined && token.captureMethod !== undefined && token.captureMethod !== captureMethod) {
    const message = `The provided capture_method (${captureMethod}) does not match the expected capture_method (${token.captureMethod}).`;
    throw invalidRequest(message, { param: 'capture_method' });
  }
  call.records.update('confirmation_token', { ...token, ...use });
  const method = insertPaymentMethod(call, { card: needCard(token.card), expMonth, expYear }, billingDetails, {});
  return { method, setupFutureUsage: setupFutureUsage ?? undefined };
}
