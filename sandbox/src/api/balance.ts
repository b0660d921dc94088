import type { Parameters } from '../http/parameters.ts';
import { missingRecord } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { BalanceTransactionRecord } from '../store/record-types.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const balanceRoutes: Route[] = [
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

/** 2.9 % and 30 cents, half a cent up. */
export function processingFee(amount: number): number {
  return Math.round((amount * feePerMille) / 1000) + feeFixed;
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
    reportingCategory: movement.type === 'adjustment' ? 'dispute' : movement.type,
    ...movement,
    description: movement.description ?? null,
  };
  call.records.insert('balance_transaction', transaction, transaction.source);
  return transaction;
}

function listTransactions(parameters: Parameters) {
  const query = { ...pageQuery(parameters), parent: parameters.text('source') };
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/balance_transactions', call.records.page('balance_transaction', call.account, query), (record) =>
      shape('balance_transaction', record),
    );
}

function retrieveTransaction(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const transaction = call.records.find('balance_transaction', call.account, call.id);
    if (transaction === undefined) throw missingRecord('balance transaction', call.id.slice(0, 80));
    return shape('balance_transaction', transaction);
  };
}
