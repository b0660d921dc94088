import { invalidRequest } from '../refusal.ts';
import type { DisputeRecord } from '../store/record-types.ts';
import { withdraw } from './dispute-money.ts';
import type { Call } from './route.ts';

const responseSeconds = 9 * 24 * 60 * 60;

/** The cardholder's bank takes the money back until the dispute is decided; by an inquiry it only asks. */
export function openDispute(
  call: Call,
  chargeId: string,
  { amount, reason, inquiry = false }: { amount?: number | undefined; reason: string; inquiry?: boolean },
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
  const opened: DisputeRecord = {
    id: call.newId('du'),
    account: call.account,
    created: call.at,
    amount: disputed,
    currency: charge.currency,
    charge: charge.id,
    paymentIntent: charge.paymentIntent,
    status: inquiry ? 'warning_needs_response' : 'needs_response',
    reason,
    evidence: {},
    dueBy: call.at + responseSeconds,
    submissionCount: 0,
    balanceTransactions: [],
    metadata: {},
  };
  const dispute = inquiry ? opened : withdraw(call, opened);
  call.records.insert('dispute', dispute, charge.id);
  call.records.update('charge', { ...charge, disputed: true });
  call.emit('charge.dispute.created', 'dispute', dispute);
  if (!inquiry) call.emit('charge.dispute.funds_withdrawn', 'dispute', dispute);
  return dispute;
}
