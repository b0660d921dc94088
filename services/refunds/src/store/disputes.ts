import { type Db, leaseFromNow, type Page, readPage, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { centsFromInt64, newId, type ProcessorAccount, type ProcessorName } from '@eligo/values';
import type { Dispute, DisputeClaim } from '../domain/dispute.ts';
import type { DisputeStatus } from '../domain/dispute-states.ts';
import { movementsOf } from './dispute-movements.ts';

/** The job that looks at disputes when their time has come. */
export const lookAtDisputesJob = 'look-at-disputes';

/**
 * Claims a dispute of the processor for a look at it, and gives it an id of ours at the first. Undefined while another process looks at it: its look may
 * have begun before what this one is about. It stays at the processor account at which it was claimed first.
 */
export async function claimDispute(
  tx: Tx,
  scope: Scope,
  { processor, account }: ProcessorAccount,
  processorDisputeId: string,
  leaseMs: number,
): Promise<DisputeClaim | undefined> {
  const row = await tx.row(claim, scope, [newId('dispute'), processor, account, processorDisputeId, leaseMs]);
  if (row === undefined) return undefined;
  const before = row.charge_id === null ? undefined : (await fromRows(tx, scope, [row]))[0];
  return { disputeId: row.id, processorDisputeId, epoch: row.epoch, before, checks: row.checks };
}

/**
 * Stores what a look found, and returns what is stored: without the evidence if the customer is erased. Returns undefined and stores nothing if a later look began. `pauseMs` is
 * until the next look.
 */
export async function saveDispute(
  tx: Tx,
  scope: Scope,
  claimed: DisputeClaim,
  after: Dispute,
  pauseMs: number | undefined,
): Promise<Dispute | undefined> {
  if (pauseMs !== undefined) wakeJobAfterCommit(tx, lookAtDisputesJob, pauseMs);
  const saved = await tx.row(save, scope, [
    claimed.disputeId,
    claimed.epoch,
    after.status,
    after.processorStatus,
    after.reason,
    after.amountCents,
    after.currency,
    after.paymentIntentId,
    after.chargeId,
    after.checkoutSessionId,
    after.evidence,
    after.hasEvidence,
    after.submissionCount,
    after.dueBy,
    after.createdAt,
    claimed.checks + 1,
    pauseMs ?? null,
  ]);
  return saved && { ...after, evidence: saved.evidence };
}

/** Gives a claim back: the look found nothing out, and the next one is in so long. */
export async function postponeDispute(tx: Tx, scope: Scope, claimed: DisputeClaim, pauseMs: number): Promise<void> {
  wakeJobAfterCommit(tx, lookAtDisputesJob, pauseMs);
  await tx.execute(postpone, scope, [claimed.disputeId, claimed.epoch, pauseMs]);
}

/** Puts a due dispute off that no look was begun at. */
export async function putOffDispute(tx: Tx, scope: Scope, disputeId: string, pauseMs: number): Promise<void> {
  await tx.execute(putOff, scope, [disputeId, pauseMs]);
}

/** Ends the looks at a dispute that is of no charge of ours. */
export async function forgetDispute(tx: Tx, scope: Scope, claimed: DisputeClaim): Promise<void> {
  await tx.execute(forget, scope, [claimed.disputeId, claimed.epoch]);
}

/** Replaces a dispute's metadata; the caller holds its lock. */
export async function saveDisputeMetadata(
  tx: Tx,
  scope: Scope,
  disputeId: string,
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  await tx.execute(saveMetadata, scope, [disputeId, metadata]);
}

/** The dispute, or undefined when there is none that may be shown. */
export async function findDispute(db: Db, scope: Scope, disputeId: string): Promise<Dispute | undefined> {
  const row = await db.row(select, scope, [disputeId]);
  return row && (await fromRows(db, scope, [row]))[0];
}

/** The dispute that the processor has under this name, once it may be shown. */
export async function findDisputeAtProcessor(
  db: Db,
  scope: Scope,
  processor: string,
  processorDisputeId: string,
): Promise<Dispute | undefined> {
  const row = await db.row(selectAtProcessor, scope, [processor, processorDisputeId]);
  return row && (await fromRows(db, scope, [row]))[0];
}

/** The same as `findDispute`, locked until the transaction ends. */
export async function lockDispute(tx: Tx, scope: Scope, disputeId: string): Promise<Dispute | undefined> {
  const row = await tx.row(selectForUpdate, scope, [disputeId]);
  return row && (await fromRows(tx, scope, [row]))[0];
}

/** The processor account at which a dispute of the processor is; undefined before the first look at it. */
export async function accountOfDispute(
  db: Db,
  scope: Scope,
  processor: string,
  processorDisputeId: string,
): Promise<ProcessorAccount | undefined> {
  const row = await db.row(selectAccount, scope, [processor, processorDisputeId]);
  return row && { processor: row.processor, account: row.processor_account };
}

/** Where a dispute is, and the processor's name for it. */
export async function processorDisputeOf(
  db: Db,
  scope: Scope,
  disputeId: string,
): Promise<{ processorAccount: ProcessorAccount; processorDisputeId: string } | undefined> {
  const row = await db.row(selectNames, scope, [disputeId]);
  return (
    row && {
      processorAccount: { processor: row.processor, account: row.processor_account },
      processorDisputeId: row.processor_dispute_id,
    }
  );
}

/** What a list of disputes is narrowed to. */
export interface DisputeFilter {
  readonly paymentIntentId?: string | undefined;
  readonly chargeId?: string | undefined;
  readonly checkoutSessionId?: string | undefined;
}

/** A page of the account's disputes, newest first. */
export async function listDisputes(
  db: Db,
  scope: Scope,
  filter: DisputeFilter,
  page: Page,
): Promise<{ disputes: Dispute[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<DisputeRow>(
    db,
    scope,
    {
      ...{ table: 'disputes', id: 'id', columns: [...columns] },
      filter: (query) => {
        query.whereNotNull('charge_id');
        if (filter.paymentIntentId !== undefined) query.where('payment_intent_id', filter.paymentIntentId);
        if (filter.chargeId !== undefined) query.where('charge_id', filter.chargeId);
        if (filter.checkoutSessionId !== undefined) query.where('checkout_session_id', filter.checkoutSessionId);
      },
    },
    page,
  );
  return { disputes: await fromRows(db, scope, rows), hasMore };
}

/** Disputes whose time has come, over all accounts, those due longest first. */
export async function dueDisputes(db: Db, most: number): Promise<{ scope: Scope; disputeId: string }[]> {
  const rows = await db.rows(due, null, [most]);
  return rows.map((row) => ({ scope: { accountId: row.account_id, testMode: row.test_mode }, disputeId: row.id }));
}

/** How long until a dispute is due, negative when one is; undefined when none waits. */
export async function nextDisputeInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

interface DisputeRow {
  id: string;
  status: DisputeStatus;
  processor_status: string;
  reason: string;
  amount_cents: bigint;
  currency: string;
  payment_intent_id: string;
  charge_id: string | null;
  checkout_session_id: string | null;
  evidence: Record<string, string>;
  has_evidence: boolean;
  submission_count: number;
  due_by: Date | null;
  metadata: Record<string, string>;
  created_at: Date;
  test_mode: boolean;
}

const columns = [
  ...['id', 'status', 'processor_status', 'reason', 'amount_cents', 'currency', 'payment_intent_id', 'charge_id'],
  ...[
    'checkout_session_id',
    'evidence',
    'has_evidence',
    'submission_count',
    'due_by',
    'metadata',
    'created_at',
    'test_mode',
  ],
];
const here = 'account_id = $1 and test_mode = $2';
const one = `${here} and id = $3`;

const claim = scoped<DisputeRow & { epoch: bigint; checks: number }>(
  'disputes.claim',
  `insert into refunds.disputes as d (account_id, test_mode, id, processor, processor_account, processor_dispute_id, lease_until, next_check_at)
   values ($1, $2, $3, $4, $5, $6, ${leaseFromNow('$7')}, ${leaseFromNow('$7')})
   on conflict (account_id, test_mode, processor, processor_dispute_id) do update
     set epoch = d.epoch + 1, lease_until = excluded.lease_until, next_check_at = excluded.next_check_at
     where d.lease_until <= clock_timestamp()
   returning ${columns}, epoch, checks`,
);
const held = `${one} and epoch = $4`;
const save = scoped<Pick<DisputeRow, 'evidence'>>(
  'disputes.save',
  `update refunds.disputes
      set status = $5, processor_status = $6, reason = $7, amount_cents = $8, currency = $9, payment_intent_id = $10, charge_id = $11,
          checkout_session_id = $12, evidence = $13, has_evidence = $14, submission_count = $15, due_by = $16, created_at = $17,
          checks = $18, next_check_at = clock_timestamp() + $19 * interval '1 millisecond', lease_until = clock_timestamp()
    where ${held} returning evidence`,
);
const postpone = scoped<never>(
  'disputes.postpone',
  `update refunds.disputes set lease_until = clock_timestamp(), next_check_at = ${leaseFromNow('$5')} where ${held}`,
);
const putOff = scoped<never>(
  'disputes.put_off',
  `update refunds.disputes set next_check_at = ${leaseFromNow('$4')} where ${one} and next_check_at <= clock_timestamp()`,
);
const forget = scoped<never>(
  'disputes.forget',
  `update refunds.disputes set lease_until = clock_timestamp(), next_check_at = null where ${held} and charge_id is null`,
);
const saveMetadata = scoped<never>('disputes.save_metadata', `update refunds.disputes set metadata = $4 where ${one}`);
const shown = `${one} and charge_id is not null`;
const select = scoped<DisputeRow>('disputes.get', `select ${columns} from refunds.disputes where ${shown}`);
const selectForUpdate = scoped<DisputeRow>(
  'disputes.lock',
  `select ${columns} from refunds.disputes where ${shown} for no key update`,
);
const selectAtProcessor = scoped<DisputeRow>(
  'disputes.at_processor',
  `select ${columns} from refunds.disputes where ${here} and processor = $3 and processor_dispute_id = $4 and charge_id is not null`,
);
const selectAccount = scoped<{ processor: ProcessorName; processor_account: string }>(
  'disputes.account',
  `select processor, processor_account from refunds.disputes where ${here} and processor = $3 and processor_dispute_id = $4`,
);
const selectNames = scoped<{ processor: ProcessorName; processor_account: string; processor_dispute_id: string }>(
  'disputes.names',
  `select processor, processor_account, processor_dispute_id from refunds.disputes where ${one}`,
);
const due = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'disputes.due',
  'select account_id, test_mode, id from refunds.due_disputes($1)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'disputes.next',
  'select extract(epoch from refunds.next_dispute() - clock_timestamp())::float8 * 1000 as due_in_ms',
);

async function fromRows(db: Db, scope: Scope, rows: readonly DisputeRow[]): Promise<Dispute[]> {
  const movements = await movementsOf(
    db,
    scope,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({
    disputeId: row.id,
    status: row.status,
    processorStatus: row.processor_status,
    reason: row.reason,
    amountCents: centsFromInt64(row.amount_cents),
    currency: row.currency,
    paymentIntentId: row.payment_intent_id,
    chargeId: row.charge_id ?? '',
    checkoutSessionId: row.checkout_session_id,
    evidence: row.evidence,
    hasEvidence: row.has_evidence,
    submissionCount: row.submission_count,
    dueBy: row.due_by,
    metadata: row.metadata,
    createdAt: row.created_at,
    balanceTransactionIds: movements.get(row.id) ?? [],
    testMode: row.test_mode,
  }));
}
