import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import { randomText } from '../store/ids.ts';
import type { PaymentIntentRecord, ThreeDSecure } from '../store/record-types.ts';
import { needCustomer } from './customers.ts';
import { confirmIntent, isConfirmable, readConfirmation, withTokensMethod } from './intent-confirmation.ts';
import { needIntent } from './intent-state.ts';
import { usablePaymentMethod } from './payment-methods.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const paymentIntentRoutes: Route[] = [
  { method: 'POST', path: '/v1/payment_intents', call: 'payment_intents.create', prepare: createIntent },
  { method: 'GET', path: '/v1/payment_intents', call: 'payment_intents.list', prepare: listIntents },
  { method: 'GET', path: '/v1/payment_intents/:id', call: 'payment_intents.retrieve', prepare: retrieveIntent },
  { method: 'POST', path: '/v1/payment_intents/:id', call: 'payment_intents.update', prepare: updateIntent },
  { method: 'POST', path: '/v1/payment_intents/:id/confirm', call: 'payment_intents.confirm', prepare: confirm },
];

const maxAmount = 99_999_999;
/** Stripe's least charge in US dollars. */
const minAmount = 50;

function createIntent(parameters: Parameters) {
  const amount = readAmount(parameters);
  const currency = readCurrency(parameters);
  const customer = parameters.text('customer');
  const captureMethod =
    parameters.oneOf('capture_method', ['automatic', 'automatic_async', 'manual'] as const) ?? 'automatic';
  const card = readCardOptions(parameters);
  const texts = readTexts(parameters);
  const metadata = mergedMetadata({}, parameters.metadata());
  const confirmNow = parameters.boolean('confirm') ?? false;
  const confirmation = readConfirmation(parameters);
  // The older name of the same, which older clients send.
  parameters.list('payment_method_types');
  parameters.list('allowed_payment_method_types');
  parameters.list('excluded_payment_method_types');
  parameters.raw('automatic_payment_methods');
  parameters.raw('amount_details');
  parameters.raw('payment_details');
  parameters.finish();
  if (confirmation.offSession && !confirmNow) {
    throw invalidRequest('`off_session` may only be given together with `confirm=true`.', { param: 'off_session' });
  }
  if (confirmation.confirmationToken !== undefined && !confirmNow) {
    throw invalidRequest('`confirmation_token` may only be given together with `confirm=true`.', {
      param: 'confirmation_token',
    });
  }
  return (call: Call) => {
    if (customer !== undefined) needCustomer(call, customer, 'customer');
    const method =
      confirmation.paymentMethod === undefined
        ? undefined
        : usablePaymentMethod(call, confirmation.paymentMethod, customer ?? null);
    const intent: PaymentIntentRecord = {
      id: call.newId('pi'),
      account: call.account,
      created: call.at,
      amount,
      amountCapturable: 0,
      amountReceived: 0,
      currency,
      status: method === undefined ? 'requires_payment_method' : 'requires_confirmation',
      captureMethod,
      multicapture: captureMethod === 'manual' && card.multicapture,
      threeDSecure: card.threeDSecure,
      customer: customer ?? null,
      paymentMethod: method?.id ?? null,
      latestCharge: null,
      lastError: null,
      setupFutureUsage: confirmation.setupFutureUsage ?? null,
      description: texts.description ?? null,
      statementDescriptor: texts.statementDescriptor ?? null,
      statementDescriptorSuffix: texts.statementDescriptorSuffix ?? null,
      receiptEmail: texts.receiptEmail ?? null,
      returnUrl: confirmation.returnUrl ?? null,
      shipping: texts.shipping ?? null,
      transferGroup: texts.transferGroup ?? null,
      secret: randomText(25),
      canceledAt: null,
      cancellationReason: null,
      metadata,
    };
    call.records.insert('payment_intent', intent, intent.customer ?? undefined);
    call.records.indexMetadata(call.account, intent.id, metadata);
    call.emit('payment_intent.created', 'payment_intent', intent);
    if (!confirmNow) return shape('payment_intent', intent);
    const resolved = withTokensMethod(call, intent, { ...confirmation, paymentMethod: method?.id });
    return shape('payment_intent', confirmIntent(call, intent, resolved));
  };
}

function listIntents(parameters: Parameters) {
  const query = { ...pageQuery(parameters), parent: parameters.text('customer') };
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/payment_intents', call.records.page('payment_intent', call.account, query), (record) =>
      shape('payment_intent', record),
    );
}

function retrieveIntent(parameters: Parameters) {
  parameters.text('client_secret');
  parameters.finish();
  return (call: Call) => shape('payment_intent', needIntent(call));
}

function updateIntent(parameters: Parameters) {
  const amount = parameters.has('amount') ? readAmount(parameters) : undefined;
  const paymentMethod = parameters.text('payment_method');
  const texts = readTexts(parameters);
  const metadata = parameters.metadata();
  parameters.finish();
  return (call: Call) => {
    const known = needIntent(call);
    const open = known.status.startsWith('requires_') && known.status !== 'requires_capture';
    if (!open && (amount !== undefined || paymentMethod !== undefined)) {
      throw invalidRequest(
        `This PaymentIntent could not be updated because it has a status of ${known.status}. Only its description and metadata may change.`,
        { code: 'payment_intent_unexpected_state' },
      );
    }
    const method = paymentMethod === undefined ? undefined : usablePaymentMethod(call, paymentMethod, known.customer);
    const intent: PaymentIntentRecord = {
      ...known,
      amount: amount ?? known.amount,
      paymentMethod: method?.id ?? known.paymentMethod,
      status: method === undefined || !open ? known.status : 'requires_confirmation',
      description: texts.description === undefined ? known.description : texts.description,
      metadata: mergedMetadata(known.metadata, metadata),
    };
    call.records.update('payment_intent', intent);
    call.records.indexMetadata(call.account, intent.id, intent.metadata, known.metadata);
    return shape('payment_intent', intent);
  };
}

function confirm(parameters: Parameters) {
  const confirmation = readConfirmation(parameters);
  parameters.text('client_secret');
  parameters.raw('payment_method_options');
  parameters.finish();
  return (call: Call) => {
    const intent = needIntent(call);
    // An intent that takes no confirmation any more is refused for that, and uses no token up.
    if (!isConfirmable(intent)) return shape('payment_intent', confirmIntent(call, intent, confirmation));
    const method =
      confirmation.paymentMethod === undefined
        ? undefined
        : usablePaymentMethod(call, confirmation.paymentMethod, intent.customer);
    const resolved = withTokensMethod(call, intent, { ...confirmation, paymentMethod: method?.id });
    return shape('payment_intent', confirmIntent(call, intent, resolved));
  };
}

function readAmount(parameters: Parameters): number {
  const amount = parameters.requiredInteger('amount', { min: 1, max: maxAmount });
  if (amount < minAmount) {
    throw invalidRequest('Amount must be at least $0.50 usd', { param: 'amount', code: 'amount_too_small' });
  }
  return amount;
}

function readCurrency(parameters: Parameters): string {
  const currency = parameters.requiredText('currency').toLowerCase();
  if (currency !== 'usd') {
    throw invalidRequest(`Invalid currency: ${currency.slice(0, 10)}. This processor takes usd only.`, {
      param: 'currency',
    });
  }
  return currency;
}

export function readCardOptions(parameters: Parameters): { multicapture: boolean; threeDSecure: ThreeDSecure } {
  const card = parameters.object('payment_method_options')?.object('card');
  if (card === undefined) return { multicapture: false, threeDSecure: 'automatic' };
  const multicapture = card.oneOf('request_multicapture', ['if_available', 'never'] as const) === 'if_available';
  const threeDSecure = card.oneOf('request_three_d_secure', ['automatic', 'any', 'challenge'] as const) ?? 'automatic';
  card.finish();
  return { multicapture, threeDSecure };
}

function readTexts(parameters: Parameters) {
  return {
    description: parameters.clearableText('description'),
    statementDescriptor: parameters.clearableText('statement_descriptor'),
    statementDescriptorSuffix: parameters.clearableText('statement_descriptor_suffix'),
    receiptEmail: parameters.clearableText('receipt_email'),
    transferGroup: parameters.clearableText('transfer_group'),
    shipping: parameters.raw('shipping'),
  };
}
