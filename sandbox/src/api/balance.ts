import type { Parameters } from '../http/parameters.ts';
import { missingRecord } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { BalanceTransactionRecord } from '../store/record-types.ts';
import type { Page, PageQuery } from '../store/records.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const balanceRoutes: Route[] = [
  { method: 'GET', path: '/v1/balance', call: 'balance.retrieve', prepare: retrieveBalance },
  { method: 'GET', path: '/v1/balance_transactions', call: 'balance_transactions.list', prepare: listTransactions },
  {
    method: 'GET',
    path: '/v1/balance_transactions/:id',
    call: 'balance_transactions.retrieve',
    prepare: retrieveTransaction,
  },
];

const settlementSeconds = 2 * 24 * 60 * 60;
const feePerMille = 29;
const feeFixed = 30;

const categories: Record<string, string> = { adjustment: 'dispute', payout_failure: 'payout_reversal' };

/** 2.9 % and 30 cents, half a cent up. */
export function processingFee(amount: number): number {
  return Math.round((amount * feePerMille) / 1000) + feeFixed;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** The midnight after a time, in UTC, in milliseconds: a movement is paid out with the day after it became available. */
export function midnightAfter(ms: number): number {
  return (Math.floor(ms / dayMs) + 1) * dayMs;
}

/** Writes one movement on the account's balance; `amount` is signed, `fee` is taken from it. */
export function moveMoney(
  call: Call,
  movement: Pick<BalanceTransactionRecord, 'amount' | 'fee' | 'currency' | 'type' | 'source'> & {
    description?: string | null;
  },
): BalanceTransactionRecord {
  const transaction: BalanceTransactionRecord = {
    id: call.newId('txn'),
    account: call.account,
    created: call.at,
    availableOn: call.at + settlementSeconds,
    reportingCategory: categories[movement.type] ?? movement.type,
    ...movement,
    description: movement.description ?? null,
  };
  call.records.insert('balance_transaction', transaction, transaction.source);
  const { id, account } = transaction;
  const net = transaction.amount - transaction.fee;
  call.balances.add({ id, account, net }, midnightAfter(call.clockMs + settlementSeconds * 1_000));
  return transaction;
}

function retrieveBalance(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const { amount, pending } = call.balances.total(call.account, call.clockMs);
    const part = (cents: number) => [{ amount: cents, currency: 'usd', source_types: { card: cents } }];
    return { object: 'balance', available: part(amount - pending), livemode: false, pending: part(pending) };
  };
}

function listTransactions(parameters: Parameters) {
  const query = { ...pageQuery(parameters), parent: parameters.text('source') };
  const payout = parameters.text('payout');
  const currency = parameters.text('currency');
  parameters.finish();
  // Its balances are in US dollars alone.
  if (currency !== undefined && currency !== 'usd')
    return () =>
      listShape<'balance_transaction'>('/v1/balance_transactions', { records: [], hasMore: false }, (record) =>
        shape('balance_transaction', record),
      );
  if (payout !== undefined) return (call: Call) => transactionsOf(call, payout, query);
  return (call: Call) =>
    listShape('/v1/balance_transactions', call.records.page('balance_transaction', call.account, query), (record) =>
      shape('balance_transaction', record),
    );
}

// Also the movement of the payout itself, so that they sum to nothing.
function transactionsOf(call: Call, payout: string, query: PageQuery): object {
  call.records.need('payout', call.account, payout, 'payout', 400);
  const { ids, hasMore } = call.balances.page(payout, query);
  const records = ids.map((id) => call.records.need('balance_transaction', call.account, id));
  const page: Page<'balance_transaction'> = { records, hasMore };
  return listShape('/v1/balance_transactions', page, (record) => shape('balance_transaction', record));
}

function retrieveTransaction(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const transaction = call.records.find('balance_transaction', call.account, call.id);
    if (transaction === undefined) throw missingRecord('balance transaction', call.id.slice(0, 80));
    return shape('balance_transaction', transaction);
  };
}
