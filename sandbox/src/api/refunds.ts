import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { needCard } from '../shapes/card.ts';
import { shape } from '../shapes/shape.ts';
import type { ChargeRecord, RefundRecord } from '../store/record-types.ts';
import { moveMoney } from './balance.ts';
import { withFailedRefund, withRefund } from './capture-references.ts';
import { withdrawnOf } from './dispute-money.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const refundRoutes: Route[] = [
  { method: 'POST', path: '/v1/refunds', call: 'refunds.create', prepare: createRefund },
  { method: 'GET', path: '/v1/refunds', call: 'refunds.list', prepare: listRefunds },
  { method: 'GET', path: '/v1/refunds/:id', call: 'refunds.retrieve', prepare: retrieveRefund },
  { method: 'POST', path: '/v1/refunds/:id', call: 'refunds.update', prepare: updateRefund },
  { method: 'POST', path: '/v1/refunds/:id/cancel', call: 'refunds.cancel', prepare: cancelRefund },
];

const reasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

function createRefund(parameters: Parameters) {
  const chargeId = parameters.text('charge');
  const intentId = parameters.text('payment_intent');
  const amount = parameters.integer('amount', { min: 1 });
  const reason = parameters.oneOf('reason', reasons);
  const metadata = mergedMetadata({}, parameters.metadata());
  parameters.boolean('reverse_transfer');
  parameters.boolean('refund_application_fee');
  parameters.finish();
  if (chargeId === undefined && intentId === undefined) {
    throw invalidRequest('One of the following params should be provided for this request: payment_intent or charge.', {
      param: 'charge',
      code: 'parameter_missing',
    });
  }
  return (call: Call) => {
    const charge = chargeToRefund(call, chargeId, intentId);
    const disputes = charge.disputed ? call.records.children('dispute', call.account, charge.id) : [];
    const withdrawn = disputes.reduce((sum, dispute) => sum + withdrawnOf(dispute), 0);
    const rest = charge.amountCaptured - charge.amountRefunded;
    if (withdrawn > 0 && (amount ?? rest) > rest - withdrawn) {
      throw invalidRequest(`Charge ${charge.id} has been charged back; cannot issue a refund.`, {
        code: 'charge_disputed',
      });
    }
    if (rest === 0) {
      throw invalidRequest(`Charge ${charge.id} has already been refunded.`, { code: 'charge_already_refunded' });
    }
    if (amount !== undefined && amount > rest) {
      throw invalidRequest(
        `Refund amount (${dollars(amount)}) is greater than unrefunded amount on charge (${dollars(rest)})`,
        { param: 'amount' },
      );
    }
    return shape('refund', insertRefund(call, charge, amount ?? rest, reason ?? null, metadata));
  };
}

/** The money comes back: pending or succeeded, it counts against what may still be refunded. */
function insertRefund(
  call: Call,
  charge: ChargeRecord,
  amount: number,
  reason: string | null,
  metadata: Record<string, string>,
): RefundRecord {
  const captures = withRefund(charge, amount, metadata);
  const id = call.newId('re');
  const transaction = moveMoney(call, {
    amount: -amount,
    fee: 0,
    currency: charge.currency,
    type: 'refund',
    source: id,
  });
  const { behaviour } = needCard(charge.card);
  const refund: RefundRecord = {
    id,
    account: call.account,
    created: call.at,
    amount,
    currency: charge.currency,
    charge: charge.id,
    paymentIntent: charge.paymentIntent,
    paymentMethod: charge.paymentMethod,
    customer: charge.customer,
    status: behaviour.kind === 'refund_pending' ? 'pending' : 'succeeded',
    reason,
    failureReason: null,
    balanceTransaction: transaction.id,
    failureBalanceTransaction: null,
    idempotencyKey: call.idempotencyKey,
    metadata,
  };
  const refunded: ChargeRecord = { ...charge, captures, amountRefunded: charge.amountRefunded + amount };
  call.records.insert('refund', refund, charge.id);
  call.records.update('charge', refunded);
  call.emit('refund.created', 'refund', refund);
  call.emit('charge.refunded', 'charge', refunded);
  // A card that fails its refunds says so after the fact, as banks do: the answer is still "succeeded".
  if (behaviour.kind === 'refund_fails') failRefund(call, refund, 'expired_or_canceled_card');
  return refund;
}

/** The bank sends a refund back: the charge's refunded amount falls again and the money returns to the balance. */
export function failRefund(
  call: Call,
  refund: RefundRecord,
  why: string,
  status: 'failed' | 'canceled' = 'failed',
): RefundRecord {
  const charge = call.records.need('charge', refund.account, refund.charge);
  const transaction = moveMoney(call, {
    amount: refund.amount,
    fee: 0,
    currency: refund.currency,
    type: 'refund_failure',
    source: refund.id,
  });
  const failed: RefundRecord = { ...refund, status, failureReason: why, failureBalanceTransaction: transaction.id };
  call.records.update('refund', failed);
  const captures = withFailedRefund(charge, refund.metadata);
  call.records.update('charge', { ...charge, captures, amountRefunded: charge.amountRefunded - refund.amount });
  call.emit('refund.updated', 'refund', failed);
  call.emit('charge.refund.updated', 'refund', failed);
  if (status === 'failed') call.emit('refund.failed', 'refund', failed);
  return failed;
}

export function succeedRefund(call: Call, refund: RefundRecord): RefundRecord {
  const succeeded: RefundRecord = { ...refund, status: 'succeeded' };
  call.records.update('refund', succeeded);
  call.emit('refund.updated', 'refund', succeeded);
  call.emit('charge.refund.updated', 'refund', succeeded);
  return succeeded;
}

function listRefunds(parameters: Parameters) {
  const charge = parameters.text('charge');
  const intent = parameters.text('payment_intent');
  const query = pageQuery(parameters);
  parameters.finish();
  return (call: Call) => {
    const parent = charge ?? (intent === undefined ? undefined : succeededCharge(call, intent)?.id);
    if (intent !== undefined && parent === undefined)
      return { object: 'list', data: [], has_more: false, url: '/v1/refunds' };
    return listShape('/v1/refunds', call.records.page('refund', call.account, { ...query, parent }), (record) =>
      shape('refund', record),
    );
  };
}

function retrieveRefund(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('refund', call.records.need('refund', call.account, call.id));
}

function updateRefund(parameters: Parameters) {
  const metadata = parameters.metadata();
  parameters.finish();
  return (call: Call) => {
    const known = call.records.need('refund', call.account, call.id);
    const refund: RefundRecord = { ...known, metadata: mergedMetadata(known.metadata, metadata) };
    call.records.update('refund', refund);
    call.emit('refund.updated', 'refund', refund);
    return shape('refund', refund);
  };
}

function cancelRefund(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const refund = call.records.need('refund', call.account, call.id);
    if (refund.status !== 'pending') {
      throw invalidRequest(`This refund cannot be canceled because it has a status of ${refund.status}.`);
    }
    return shape('refund', failRefund(call, refund, 'merchant_request', 'canceled'));
  };
}

function chargeToRefund(call: Call, chargeId: string | undefined, intentId: string | undefined): ChargeRecord {
  if (chargeId !== undefined) {
    const charge = call.records.need('charge', call.account, chargeId, 'charge', 400);
    if (intentId !== undefined && charge.paymentIntent !== intentId) {
      throw invalidRequest('The charge does not belong to the payment_intent.', { param: 'payment_intent' });
    }
    if (charge.status === 'succeeded' && charge.amountCaptured > 0) return charge;
    throw invalidRequest(`Charge ${charge.id} has no captured amount that could be refunded.`, {
      param: 'charge',
      code: 'charge_not_refundable',
    });
  }
  const intent = call.records.need('payment_intent', call.account, intentId ?? '', 'payment_intent', 400);
  const charge = succeededCharge(call, intent.id);
  if (charge !== undefined && charge.amountCaptured > 0) return charge;
  throw invalidRequest(`This PaymentIntent (${intent.id}) does not have a successful charge to refund.`, {
    param: 'payment_intent',
  });
}

function succeededCharge(call: Call, intentId: string): ChargeRecord | undefined {
  return call.records.children('charge', call.account, intentId).find((charge) => charge.status === 'succeeded');
}

function dollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}
