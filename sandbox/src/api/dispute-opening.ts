import { invalidRequest } from '../refusal.ts';
import type { DisputeRecord } from '../store/record-types.ts';
import { moveMoney } from './balance.ts';
import type { Call } from './route.ts';

const responseSeconds = 9 * 24 * 60 * 60;
/** What a dispute costs the account that gets it, in cents. */
export const disputeFee = 1500;

/** The cardholder's bank takes the money back until the dispute is decided. */
export function openDispute(
  call: Call,
  chargeId: string,
  { amount, reason }: { amount?: number | undefined; reason: string },
): DisputeRecord {
  const charge = call.records.need('charge', call.account, chargeId, 'charge', 400);
  if (charge.status !== 'succeeded' || charge.amountCaptured === 0) {
    throw invalidRequest('Only a captured charge can be disputed.', { param: 'charge' });
  }
  if (charge.disputed) throw invalidRequest('This charge is already disputed.', { param: 'charge' });
  const disputed = amount ?? charge.amountCaptured - charge.amountRefunded;
  if (disputed < 1 || disputed > charge.amountCaptured) {
    throw invalidRequest('The disputed amount may not exceed what was captured.', { param: 'amount' });
  }
  const id = call.newId('du');
  const withdrawal = moveMoney(call, {
    amount: -disputed,
    fee: disputeFee,
    currency: charge.currency,
    type: 'adjustment',
    source: id,
    description: `Chargeback withdrawal for ${charge.id}`,
  });
  const dispute: DisputeRecord = {
    id,
    account: call.account,
    created: call.at,
    amount: disputed,
    currency: charge.currency,
    charge: charge.id,
    paymentIntent: charge.paymentIntent,
    status: 'needs_response',
    reason,
    evidence: {},
    dueBy: call.at + responseSeconds,
    submissionCount: 0,
    balanceTransactions: [withdrawal.id],
    metadata: {},
  };
  call.records.insert('dispute', dispute, charge.id);
  call.records.update('charge', { ...charge, disputed: true });
  call.emit('charge.dispute.created', 'dispute', dispute);
  call.emit('charge.dispute.funds_withdrawn', 'dispute', dispute);
  return dispute;
}
