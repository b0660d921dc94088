import { type Db, unscoped } from '@eligo/postgres';
import { checkSums } from './check-sums.ts';
import { ledgerChecks } from './checks/ledger-checks.ts';
import { type Fault, Findings } from './findings.ts';
import { checkRanges, type FoundFault, type RangeOptions, type Rows } from './ranges.ts';

export type LedgerCheckOptions = Pick<RangeOptions, 'size' | 'onRange'>;

/**
 * Compares the ledger with the journals of checkout and refunds, with the movements that the processors listed, and with balance transactions and disputes, to
 * the cent. At most 1,000 faults, the wrong ones first. The caller's role is not bound by row-level security.
 */
export async function checkLedger(db: Db, options: LedgerCheckOptions = {}): Promise<Fault[]> {
  const findings = new Findings();
  await lookAtLedger(db, findings, options);
  return findings.faults;
}

/** The same, range by range: no statement and no memory grows with the ledger. */
export async function lookAtLedger(db: Db, findings: Findings, options: LedgerCheckOptions = {}): Promise<void> {
  const rows: Rows = (name, text, values) => db.rows(unscoped<never>(name, text), null, values);
  const told = whetherTold(rows);
  for (const check of ledgerChecks) await checkRanges(rows, check, findings, { ...options, ...told });
  await checkSums(db, findings, options);
}

/**
 * A capture that was told and is not posted is on its way while its account has an event that refunds has not handled. All such accounts are read at once, as the
 * events of an account are found by no index; and again some seconds later, as an event that was on its way is handled by then, and for the second look.
 */
export function whetherTold(rows: Rows): {
  readonly decide: NonNullable<RangeOptions['decide']>;
  readonly beforeAgain: NonNullable<RangeOptions['beforeAgain']>;
} {
  let waiting = new Set<string>();
  let keepUntil = Number.NEGATIVE_INFINITY;
  let isSecondLook = false;
  return {
    async decide(found) {
      if (performance.now() >= keepUntil && found.some(({ state }) => state === 'told')) {
        const startedAt = performance.now();
        waiting = await waitingAccounts(rows);
        const readAt = performance.now();
        keepUntil = readAt + Math.max(waitingForMs, 10 * (readAt - startedAt));
      }
      const stateOf = ({ state, account_id, test_mode }: FoundFault) =>
        state !== 'told' ? state : waiting.has(`${account_id} ${test_mode}`) ? 'unsettled' : 'wrong';
      return found.map((one) => ({ ...one, state: stateOf(one) }));
    },
    async beforeAgain() {
      if (!isSecondLook) keepUntil = Number.NEGATIVE_INFINITY;
      isSecondLook = true;
    },
  };
}

// Many ranges with entries that wait cost one read of the events, and the reads of millions of events a tenth of the run.
const waitingForMs = 5_000;

async function waitingAccounts(rows: Rows): Promise<Set<string>> {
  const waiting = new Set<string>();
  for (let after = ''; ; ) {
    const found = await rows<{ accounts: string[] | null; last: string | null }>('ledger_check.telling', telling, [
      after,
    ]);
    const [page] = found;
    for (const account of page?.accounts ?? []) waiting.add(account);
    if (page?.last === null || page?.last === undefined) return waiting;
    after = page.last;
  }
}

const telling = `with page as materialized (
    select event_id, type, account_id, test_mode from checkout.outbox where event_id > $1 order by event_id limit 20000
  )
  select (select array_agg(distinct p.account_id || ' ' || p.test_mode::text) from page p where p.type = 'command.journal'
      and not exists (select from refunds.inbox i where i.consumer = 'ledger' and i.event_id = p.event_id offset 0)) as accounts,
    (select max(event_id) from page) as last`;
