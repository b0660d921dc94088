import { type Database, unscoped } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import { type Feed, keyOf } from './feeds.ts';
import type { Fault } from './findings.ts';
import { patiently } from './patiently.ts';

/** 20,000 movements that the ledger does not have yet. */
const mostPages = 200;
/** How far behind the processor's time a movement can be listed. */
const overlapMs = 60_000;

/**
 * Compares the ledger's balance with the sandbox's, while money moves: the ledger's, what is on its way to it, and what the sandbox lists that is not stored yet, make up
 * the balance at one moment between two looks at the list. A real account may have had money before Eligo, which the ledger does not know; the sandbox's have none.
 */
export async function compareBalance(database: Database, port: ProcessorPort, feed: Feed): Promise<Fault[]> {
  const { account_id, test_mode, processor_account: id } = feed;
  const fault = (state: Fault['state'], name: string, detail: string): Fault[] => [
    { state, fault: name, account_id, test_mode, id, detail },
  ];
  const from = new Date(
    ((await database.row(selectReadFrom, null, keyOf(feed)))?.read_from ?? feed.read_from).getTime() - overlapMs,
  );
  const before = await listFrom(port, from);
  const balance = await patiently(() => port.retrieveBalance());
  const after = await listFrom(port, from);
  if (before === undefined || after === undefined || balance.kind !== 'found')
    return fault(
      'not_compared',
      'processor_not_compared',
      'the balance: the processor does not list it, or is far ahead of the ledger',
    );
  const known = new Set(before.map(({ id }) => id));
  const sums = await database.row(selectSums, null, [
    ...keyOf(feed),
    after.map(({ id }) => id),
    after.map(({ net }) => net),
    from,
  ]);
  const ledger = Number(sums?.ledger ?? 0);
  const onItsWay = Number(sums?.unposted ?? 0) + Number(sums?.unread ?? 0) - Number(sums?.later ?? 0);
  // Newest first: what the sandbox moved between the looks may or may not be in its balance, and each of it only with all that was before.
  let expected = ledger + onItsWay;
  const possible = [expected];
  for (const { id, net } of after) {
    if (known.has(id)) break;
    expected -= net;
    possible.push(expected);
  }
  if (possible.includes(balance.amountCents)) return [];
  const detail = `the processor has ${balance.amountCents}, the ledger ${ledger} and ${onItsWay} on its way`;
  return fault('wrong', 'processor_balance_differs', detail);
}

interface Net {
  readonly id: string;
  readonly net: number;
}

// Undefined where the processor does not list it, or lists more than is held.
async function listFrom(port: ProcessorPort, from: Date): Promise<Net[] | undefined> {
  const nets: Net[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await patiently(() => port.listBalanceTransactions({ from, after }));
    if (page.kind !== 'page') return undefined;
    nets.push(...page.transactions.map(({ balanceTransactionId: id, netCents: net }) => ({ id, net })));
    if (!page.hasMore || page.lastId === undefined) return nets;
    after = page.lastId;
  }
  return undefined;
}

const ofFeed = 'account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4';
const selectReadFrom = unscoped<{ read_from: Date }>(
  'processor_check.read_from',
  `select read_from from refunds.ledger_feeds where ${ofFeed}`,
);
// In one statement, so at one moment. What is stored and was listed by neither look came after them.
const selectSums = unscoped<{ ledger: bigint; unposted: bigint; unread: bigint; later: bigint }>(
  'processor_check.balance',
  `select (select coalesce(sum(amount_cents), 0)::bigint from refunds.ledger_totals
            where ${ofFeed} and grain = 'month' and ledger_account = 'processor_balance') as ledger,
          (select coalesce(sum(net_cents), 0)::bigint from refunds.processor_transactions where ${ofFeed} and match_at is not null) as unposted,
          (select coalesce(sum(n.net), 0)::bigint from unnest($5::text[], $6::bigint[]) n (id, net)
            where not exists (select from refunds.processor_transactions m where ${ofFeed} and m.id = n.id offset 0)) as unread,
          (select coalesce(sum(net_cents), 0)::bigint from refunds.processor_transactions
            where ${ofFeed} and created_at >= $7 and id <> all ($5::text[])) as later`,
);
