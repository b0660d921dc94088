import type { DisputeRecord } from '../store/record-types.ts';
import { moveMoney } from './balance.ts';
import type { Call } from './route.ts';

/** What a dispute costs the account that gets it, in cents. */
const disputeFee = 1500;

/** What a dispute has taken from the balance and not brought back. */
export function withdrawnOf(dispute: DisputeRecord): number {
  return -dispute.balanceTransactions.reduce((sum, { amount }) => sum + amount, 0);
}

/** The dispute with the movement that takes its amount and its fee from the balance. */
export function withdraw(call: Call, dispute: DisputeRecord): DisputeRecord {
  return move(call, dispute, -dispute.amount, disputeFee, `Chargeback withdrawal for ${dispute.charge}`);
}

/** The dispute with the movement that brings amount and fee back. */
export function reinstate(call: Call, dispute: DisputeRecord): DisputeRecord {
  return move(call, dispute, dispute.amount, -disputeFee, `Chargeback reversal for ${dispute.charge}`);
}

function move(call: Call, dispute: DisputeRecord, amount: number, fee: number, description: string): DisputeRecord {
  const { id: source, currency } = dispute;
  const transaction = moveMoney(call, { amount, fee, currency, type: 'adjustment', source, description });
  return { ...dispute, balanceTransactions: [...dispute.balanceTransactions, transaction] };
}
