import { cardByNumber, cardByToken, type TestCard } from '../cards.ts';
import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest, missingRecord, Refusal } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { PaymentMethodRecord } from '../store/record-types.ts';
import { needCustomer } from './customers.ts';
import { askIssuerToAttach } from './issuer-check.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const paymentMethodRoutes: Route[] = [
  { method: 'POST', path: '/v1/payment_methods', call: 'payment_methods.create', prepare: createPaymentMethod },
  { method: 'GET', path: '/v1/payment_methods', call: 'payment_methods.list', prepare: listPaymentMethods },
  { method: 'GET', path: '/v1/customers/:id/payment_methods', call: 'payment_methods.list', prepare: listOfCustomer },
  { method: 'GET', path: '/v1/payment_methods/:id', call: 'payment_methods.retrieve', prepare: retrievePaymentMethod },
  { method: 'POST', path: '/v1/payment_methods/:id', call: 'payment_methods.update', prepare: updatePaymentMethod },
  {
    method: 'POST',
    path: '/v1/payment_methods/:id/attach',
    call: 'payment_methods.attach',
    prepare: attachPaymentMethod,
  },
  {
    method: 'POST',
    path: '/v1/payment_methods/:id/detach',
    call: 'payment_methods.detach',
    prepare: detachPaymentMethod,
  },
];

/** The card of a payment method in the making: what `readCard` found in the parameters. */
export interface CardInput {
  card: TestCard;
  expMonth: number | undefined;
  expYear: number | undefined;
}

/**
 * The payment method that a charge names: one of the account's own, or a ready one (`pm_card_visa`, `pm_card_hsa`), of which
 * each use makes a new one. It must not have been detached, and if it has a customer it must be this one.
 */
export function usablePaymentMethod(call: Call, id: string, customer: string | null): PaymentMethodRecord {
  const ready = id.startsWith('pm_card_') ? cardByToken(id) : undefined;
  if (ready !== undefined) {
    return insertPaymentMethod(call, { card: ready, expMonth: undefined, expYear: undefined }, emptyBilling, {});
  }
  const method = call.records.find('payment_method', call.account, id);
  if (method === undefined) throw missingRecord('PaymentMethod', id.slice(0, 80), 'payment_method', 400);
  if (method.detached) {
    throw invalidRequest('This PaymentMethod was detached from its Customer and may not be used again.', {
      param: 'payment_method',
    });
  }
  if (method.customer !== null && method.customer !== customer) {
    throw invalidRequest(
      customer === null
        ? 'This PaymentMethod belongs to a Customer: please include that Customer in the `customer` parameter.'
        : `The customer does not have a payment method with the ID ${method.id}. The payment method must belong to the customer.`,
      { param: 'payment_method' },
    );
  }
  return method;
}

/** The card and the billing details of a payment method that does not exist yet. */
export function readMethodDetails(parameters: Parameters): { input: CardInput; billing: object } {
  parameters.oneOf('type', ['card']) ?? parameters.requiredText('type');
  return { input: readCard(parameters), billing: readBilling(parameters) };
}

function createPaymentMethod(parameters: Parameters) {
  const { input, billing } = readMethodDetails(parameters);
  const metadata = mergedMetadata({}, parameters.metadata());
  parameters.finish();
  return (call: Call) => {
    const year = new Date(call.nowMs).getUTCFullYear();
    const month = new Date(call.nowMs).getUTCMonth() + 1;
    const { expYear, expMonth } = input;
    if (expYear !== undefined && (expYear < year || (expYear === year && expMonth !== undefined && expMonth < month))) {
      throw new Refusal(402, {
        type: 'card_error',
        code: expYear < year ? 'invalid_expiry_year' : 'invalid_expiry_month',
        message: `Your card's expiration ${expYear < year ? 'year' : 'month'} is invalid.`,
        param: expYear < year ? 'exp_year' : 'exp_month',
      });
    }
    return shape('payment_method', insertPaymentMethod(call, input, billing, metadata));
  };
}

function listPaymentMethods(parameters: Parameters) {
  const customer = parameters.text('customer');
  parameters.text('type');
  const query = { ...pageQuery(parameters), parent: customer };
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/payment_methods', call.records.page('payment_method', call.account, query), (record) =>
      shape('payment_method', record),
    );
}

function listOfCustomer(parameters: Parameters) {
  parameters.text('type');
  const query = pageQuery(parameters);
  parameters.finish();
  return (call: Call) => {
    const { id } = call.records.need('customer', call.account, call.id);
    const page = call.records.page('payment_method', call.account, { ...query, parent: id });
    return listShape(`/v1/customers/${id}/payment_methods`, page, (record) => shape('payment_method', record));
  };
}

function retrievePaymentMethod(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('payment_method', needMethod(call));
}

function updatePaymentMethod(parameters: Parameters) {
  const billing = parameters.has('billing_details') ? readBilling(parameters) : undefined;
  const metadata = parameters.metadata();
  parameters.finish();
  return (call: Call) => {
    const known = needMethod(call);
    const method: PaymentMethodRecord = {
      ...known,
      billingDetails: billing ?? known.billingDetails,
      metadata: mergedMetadata(known.metadata, metadata),
    };
    call.records.update('payment_method', method);
    return shape('payment_method', method);
  };
}

function attachPaymentMethod(parameters: Parameters) {
  const customer = parameters.requiredText('customer');
  parameters.finish();
  return (call: Call) => {
    const { id } = needCustomer(call, customer, 'customer');
    const known = call.id.startsWith('pm_card_') ? usablePaymentMethod(call, call.id, id) : needMethod(call);
    if (known.customer !== null && known.customer !== id) {
      throw invalidRequest('The payment method you provided has already been attached to a customer.');
    }
    if (known.detached) {
      throw invalidRequest(
        'This PaymentMethod was previously used without being attached to a Customer or was detached from a Customer, and may not be used again.',
      );
    }
    if (known.customer === null) askIssuerToAttach(known);
    const method: PaymentMethodRecord = { ...known, customer: id };
    call.records.update('payment_method', method, id);
    call.emit('payment_method.attached', 'payment_method', method);
    return shape('payment_method', method);
  };
}

function detachPaymentMethod(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const known = needMethod(call);
    if (known.customer === null) {
      throw invalidRequest(
        'The payment method you provided is not attached to a customer so detachment is impossible.',
      );
    }
    const method: PaymentMethodRecord = { ...known, customer: null, detached: true };
    call.records.update('payment_method', method, '');
    call.emit('payment_method.detached', 'payment_method', method);
    return shape('payment_method', method);
  };
}

/** A new payment method of the account, which belongs to no customer yet. */
export function insertPaymentMethod(
  call: Call,
  input: CardInput,
  billingDetails: unknown,
  metadata: Record<string, string>,
): PaymentMethodRecord {
  const method: PaymentMethodRecord = {
    id: call.newId('pm'),
    account: call.account,
    created: call.at,
    card: input.card.name,
    expMonth: input.expMonth ?? 12,
    expYear: input.expYear ?? new Date(call.nowMs).getUTCFullYear() + 3,
    customer: null,
    detached: false,
    billingDetails,
    metadata,
  };
  call.records.insert('payment_method', method);
  return method;
}

function readCard(parameters: Parameters): CardInput {
  const given = parameters.object('card');
  if (given === undefined)
    throw invalidRequest('Missing required param: card.', { param: 'card', code: 'parameter_missing' });
  const token = given.text('token');
  const number = token === undefined ? given.requiredText('number') : given.text('number');
  const expMonth = given.integer('exp_month', { min: 1, max: 12 });
  const expYear = given.integer('exp_year', { min: 1, max: 2099 });
  given.text('cvc');
  given.raw('networks');
  given.finish();
  if (token === undefined && !isCardNumber(number ?? '')) throw incorrectNumber();
  const card = token === undefined ? cardByNumber(number ?? '') : cardByToken(token);
  if (card === undefined)
    throw token === undefined ? notATestCard() : missingRecord('token', token.slice(0, 80), 'card[token]', 400);
  return { card, expMonth, expYear };
}

const emptyBilling = { address: null, email: null, name: null, phone: null, tax_id: null };

function readBilling(parameters: Parameters): object {
  const given = parameters.object('billing_details');
  if (given === undefined) return emptyBilling;
  const billing = {
    address: given.raw('address') ?? null,
    email: given.clearableText('email') ?? null,
    name: given.clearableText('name') ?? null,
    phone: given.clearableText('phone') ?? null,
    tax_id: null,
  };
  given.finish();
  return billing;
}

function needMethod(call: Call): PaymentMethodRecord {
  const method = call.records.find('payment_method', call.account, call.id);
  if (method === undefined) throw missingRecord('PaymentMethod', call.id.slice(0, 80), 'payment_method');
  return method;
}

// Luhn: every second digit from the right counts twice.
function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/[ -]/g, '');
  if (!/^\d{12,19}$/.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function incorrectNumber(): Refusal {
  return new Refusal(402, {
    type: 'card_error',
    code: 'incorrect_number',
    message: 'Your card number is incorrect.',
    param: 'number',
  });
}

function notATestCard(): Refusal {
  return new Refusal(402, {
    type: 'card_error',
    code: 'card_declined',
    decline_code: 'test_mode_live_card',
    message:
      'Your card was declined. Your request was in test mode, but used a non test card. For a list of valid test cards, see the documentation.',
    param: 'card[number]',
  });
}
