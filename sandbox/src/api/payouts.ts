import type { Parameters } from '../http/parameters.ts';
import { invalidRequest, missingRecord } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { PayoutRecord } from '../store/record-types.ts';
import { midnightAfter, moveMoney } from './balance.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const payoutRoutes: Route[] = [
  { method: 'GET', path: '/v1/payouts', call: 'payouts.list', prepare: listPayouts },
  { method: 'GET', path: '/v1/payouts/:id', call: 'payouts.retrieve', prepare: retrievePayout },
];

const daySeconds = 24 * 60 * 60;
const arrivalDays = 2;
// In one payout and one write, so that the calls of others wait for some milliseconds; what remains goes with the next.
const mostMovements = 5_000;

/**
 * Pays out what an account has by a time, as Stripe does every day by itself. A balance that owes money is carried to the next day; then there is no payout.
 */
export function payOut(call: Call, byMs: number): PayoutRecord | undefined {
  const movements = call.balances.unpaid(call.account, byMs, mostMovements);
  const amount = movements.reduce((sum, { net }) => sum + net, 0);
  if (amount <= 0) {
    call.balances.putOff(movements, midnightAfter(call.clockMs));
    return undefined;
  }
  const id = call.newId('po');
  const moved = moveMoney(call, { amount: -amount, fee: 0, currency: 'usd', type: 'payout', source: id });
  const payout: PayoutRecord = {
    ...{ id, account: call.account, created: call.at, amount, currency: 'usd', status: 'in_transit' },
    arrivalDate: call.at + arrivalDays * daySeconds,
    balanceTransaction: moved.id,
    failureBalanceTransaction: null,
    failureCode: null,
    metadata: {},
  };
  call.balances.payOut(id, [...movements, { id: moved.id, net: -amount }]);
  call.balances.send(payout, call.clockMs + arrivalDays * daySeconds * 1_000);
  call.records.insert('payout', payout);
  call.emit('payout.created', 'payout', payout);
  return payout;
}

/** The payout is at the bank. */
export function arrive(call: Call, id: string): void {
  call.balances.settle(id);
  const paid = { ...call.records.need('payout', call.account, id), status: 'paid' as const };
  call.records.update('payout', paid);
  call.emit('payout.paid', 'payout', paid);
}

/** The bank gives a payout back: the money is on the balance again, and goes with the next. */
export function failPayout(call: Call, payout: PayoutRecord): PayoutRecord {
  if (payout.status === 'failed') throw invalidRequest('This payout has already failed.');
  call.balances.settle(payout.id);
  const { amount, currency, id: source } = payout;
  const returned = moveMoney(call, { amount, fee: 0, currency, type: 'payout_failure', source });
  const failed: PayoutRecord = {
    ...payout,
    status: 'failed',
    failureCode: 'account_closed',
    failureBalanceTransaction: returned.id,
  };
  call.records.update('payout', failed);
  call.emit('payout.failed', 'payout', failed);
  return failed;
}

function listPayouts(parameters: Parameters) {
  const query = pageQuery(parameters);
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/payouts', call.records.page('payout', call.account, query), (record) => shape('payout', record));
}

function retrievePayout(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const payout = call.records.find('payout', call.account, call.id);
    if (payout === undefined) throw missingRecord('payout', call.id.slice(0, 80));
    return shape('payout', payout);
  };
}
