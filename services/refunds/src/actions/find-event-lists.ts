import { type Scope, withTx } from '@eligo/postgres';
import { isSameAccount, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { type EventList, unreadEventLists, watchEventList } from '../store/event-lists.ts';

const page = 500;
// An account that has just made its first payment is in no hurry; its events arrive.
const firstReadInMs = 600_000;
/** As long as the processor lists an event. */
export const listedForMs = 30 * 86_400_000;

/**
 * Has the lists of events read of a page of accounts that have payments: of the processor account of the newest payment, and of that of new money. One that
 * is read already stays, also when new money goes elsewhere. Answers the last account of the page; undefined behind the last of all.
 */
export async function findEventLists(context: Context, after: Scope): Promise<Scope | undefined> {
  const { database, processors, checkout } = context;
  const { accounts } = await checkout.listAccountsWithPayments(
    { afterAccountId: after.accountId, afterTestMode: after.testMode, limit: page },
    { timeoutMs: context.budgets.checkoutMs },
  );
  const lists = accounts.flatMap(({ accountId, testMode, processor, processorAccount }): EventList[] => {
    const scope = { accountId, testMode };
    const newest = storedAccount(processor, processorAccount);
    const current = processors.findOf(scope)?.account;
    const isOne = newest !== undefined && current !== undefined && isSameAccount(newest, current);
    return [newest, isOne ? undefined : current].flatMap((account) =>
      account === undefined ? [] : [{ scope, account }],
    );
  });
  for (const list of lists.length === 0 ? [] : await unreadEventLists(database, lists)) {
    const from = new Date(Date.now() - listedForMs);
    await withTx(database, list.scope, (tx) => watchEventList(tx, list, from, firstReadInMs));
  }
  const last = accounts.at(-1);
  return accounts.length < page || last === undefined
    ? undefined
    : { accountId: last.accountId, testMode: last.testMode };
}

function storedAccount(processor: string | undefined, account: string | undefined): ProcessorAccount | undefined {
  if (account === undefined || (processor !== 'sandbox' && processor !== 'stripe')) return undefined;
  return { processor, account };
}
