import { cents, given, sumCents } from '@eligo/values';
import type Stripe from 'stripe';
import type { Caller } from './call.ts';
import { balanceTransactionFacts, isInDollars, payoutFacts } from './facts.ts';
import type { BalanceOutcome, BalanceTransactionPage, PayoutOutcome } from './outcomes.ts';
import type { ProcessorPort } from './port.ts';
import { respondedAt } from './responded-at.ts';
import { withoutDecline } from './without-decline.ts';

/** The most that the processor gives at once. */
const page = 100;
/** That of the books. */
const currency = 'usd';

type BalanceCall =
  | 'retrieveBalance'
  | 'retrieveBalanceTransaction'
  | 'listBalanceTransactions'
  | 'retrievePayout'
  | 'listPayoutTransactions';

/** The calls of the port that read the balance. */
export function balanceCalls({
  stripe,
  call,
}: {
  readonly stripe: Stripe;
  readonly call: Caller;
}): Pick<ProcessorPort, BalanceCall> {
  return {
    retrieveBalance: (options) =>
      call<Stripe.Balance, BalanceOutcome>(
        'balance.retrieve',
        options,
        (request) => stripe.balance.retrieve({}, request),
        ({ available, pending }) => ({
          kind: 'found',
          amountCents: sumCents(
            [...available, ...pending].flatMap((part) => (part.currency === currency ? [cents(part.amount)] : [])),
          ),
        }),
      ).then(withoutDecline),
    retrieveBalanceTransaction: (id, options) =>
      call(
        'balance_transactions.retrieve',
        options,
        (request) => stripe.balanceTransactions.retrieve(id, {}, request),
        (transaction) => ({ kind: 'found' as const, ...balanceTransactionFacts(transaction) }),
      ).then(withoutDecline),
    listBalanceTransactions: ({ from, before, after }, options) =>
      call<BalanceTransactionList, BalanceTransactionPage>(
        'balance_transactions.list',
        options,
        (request) => {
          const created = { gte: unixSeconds(from), ...given({ lt: before && unixSeconds(before) }) };
          return stripe.balanceTransactions.list(
            { created, currency, limit: page, ...given({ starting_after: after }) },
            request,
          );
        },
        pageFacts,
      ).then(withoutDecline),
    retrievePayout: (id, options) =>
      call<Stripe.Payout, PayoutOutcome>(
        'payouts.retrieve',
        options,
        (request) => stripe.payouts.retrieve(id, {}, request),
        (payout) => ({ kind: 'found', ...payoutFacts(payout) }),
      ).then(withoutDecline),
    listPayoutTransactions: ({ payoutId, after }, options) =>
      call<BalanceTransactionList, BalanceTransactionPage>(
        'balance_transactions.list',
        options,
        (request) =>
          stripe.balanceTransactions.list(
            { payout: payoutId, currency, limit: page, ...given({ starting_after: after }) },
            request,
          ),
        pageFacts,
      ).then(withoutDecline),
  };
}

type BalanceTransactionList = Stripe.Response<Stripe.ApiList<Stripe.BalanceTransaction>>;

function pageFacts(list: BalanceTransactionList): BalanceTransactionPage {
  const { data, has_more: hasMore } = list;
  const transactions = data.map(balanceTransactionFacts).filter(isInDollars);
  return { kind: 'page', transactions, hasMore, lastId: data.at(-1)?.id, at: respondedAt(list) };
}

function unixSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1_000);
}
