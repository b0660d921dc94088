import { type Db, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';
import type { SetupIntent } from '../domain/setup-intent.ts';

interface SetupIntentRow {
  id: string;
  status: string;
  customer_id: string | null;
  payment_method_id: string | null;
  created_at: Date;
}

const columns = ['id', 'status', 'customer_id', 'payment_method_id', 'created_at'];

const select = scoped<SetupIntentRow>(
  'checkout.setup_intent',
  `select ${columns.join(', ')} from checkout.setup_intents where account_id = $1 and test_mode = $2 and id = $3`,
);

/** The set-up intent, or undefined. */
export async function findSetupIntent(db: Db, scope: Scope, id: string): Promise<SetupIntent | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && setupIntentOfRow(row);
}

const selectBackup = scoped<SetupIntentRow>(
  'checkout.setup_intent_backup',
  `select ${columns.join(', ')} from checkout.setup_intents where account_id = $1 and test_mode = $2 and backup_of = $3`,
);

/** The set-up of the other card of the session that this set-up intent is of, or undefined. */
export async function findBackupOf(db: Db, scope: Scope, id: string): Promise<SetupIntent | undefined> {
  const row = await db.row(selectBackup, scope, [id]);
  return row && setupIntentOfRow(row);
}

/** A page of set-up intents, newest first, of one customer if asked. */
export async function listSetupIntents(
  db: Db,
  scope: Scope,
  page: Page,
  customerId: string | undefined,
): Promise<{ setupIntents: SetupIntent[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<SetupIntentRow>(
    db,
    scope,
    {
      table: 'checkout.setup_intents',
      id: 'id',
      columns,
      filter: (query) => {
        if (customerId !== undefined) query.where('customer_id', customerId);
      },
    },
    page,
  );
  return { setupIntents: rows.map(setupIntentOfRow), hasMore };
}

function setupIntentOfRow(row: SetupIntentRow): SetupIntent {
  return {
    id: row.id,
    status: row.status,
    customerId: row.customer_id,
    paymentMethodId: row.payment_method_id,
    createdAt: row.created_at,
  };
}

// The bank's question is about one card.
const isSameCard = `(i.status <> 'processing' or i.payment_method_id = excluded.payment_method_id)`;

// The row before this statement: the caller holds the session's row, so that nobody else changes it.
const upsert = scoped<{ tries: number; is_done: boolean; displaces: boolean }>(
  'checkout.setup_intent_upsert',
  `insert into checkout.setup_intents as i (account_id, test_mode, id, status, customer_id, payment_method_id, session_id, created_at,
     processor, processor_account, backup_of)
   values ($1, $2, $3, 'processing', $4, $5, $6, $7, $8, $9, $10)
   on conflict (account_id, test_mode, id) do update set
     payment_method_id = case when i.status = 'processing' then excluded.payment_method_id else i.payment_method_id end,
     processor = case when i.status = 'processing' then excluded.processor else i.processor end,
     processor_account = case when i.status = 'processing' then excluded.processor_account else i.processor_account end,
     processor_setup_intent_id = case when ${isSameCard} then i.processor_setup_intent_id end,
     asked_at = case when ${isSameCard} then i.asked_at end,
     asked_of = case when ${isSameCard} then i.asked_of end
   returning tries, status = 'succeeded' and payment_method_id = $5 as is_done, exists (
     select from checkout.setup_intents b
     where b.account_id = $1 and b.test_mode = $2 and b.id = $3 and b.status = 'processing' and b.asked_at is not null
       and b.payment_method_id <> $5) as displaces`,
);

/**
 * Begins a session's set-up, or gives the one that was begun another card. Answers which of its keys is the next to be used, and whether this card has
 * been set up already, and whether it takes the place of another one that a bank asks about.
 */
export async function beginSetupIntent(
  tx: Tx,
  scope: Scope,
  setup: {
    id: string;
    customerId: string | null;
    paymentMethodId: string;
    sessionId: string;
    at: Date;
    processorAccount: ProcessorAccount;
    /** The set-up intent of the default card, where this is the other one's; null otherwise. */
    backupOf: string | null;
  },
): Promise<{ tries: number; isDone: boolean; displaces: boolean }> {
  const row = await tx.row(upsert, scope, [
    setup.id,
    setup.customerId,
    setup.paymentMethodId,
    setup.sessionId,
    setup.at,
    setup.processorAccount.processor,
    setup.processorAccount.account,
    setup.backupOf,
  ]);
  return { tries: row?.tries ?? 0, isDone: row?.is_done === true, displaces: row?.displaces === true };
}

const insert = scoped(
  'checkout.setup_intent_insert',
  `insert into checkout.setup_intents (account_id, test_mode, id, status, customer_id, payment_method_id, created_at, processor, processor_account)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

/** Writes the set-up intent of a subscription: with its card, if it has one. */
export async function insertSetupIntent(
  tx: Tx,
  scope: Scope,
  { id, customerId, paymentMethodId, createdAt }: Omit<SetupIntent, 'status'>,
  { processor, account }: ProcessorAccount,
): Promise<void> {
  const status = paymentMethodId === null ? 'requires_payment_method' : 'processing';
  await tx.execute(insert, scope, [id, status, customerId, paymentMethodId, createdAt, processor, account]);
}

const change = scoped(
  'checkout.setup_intent_change',
  `update checkout.setup_intents set status = $4
   where account_id = $1 and test_mode = $2 and id = $3 and status not in ('succeeded', 'canceled') and status <> $4`,
);

/** Says what a set-up intent waits for, or that it was canceled. */
export async function noteSetupIntent(
  tx: Tx,
  scope: Scope,
  id: string,
  status: 'requires_payment_method' | 'processing' | 'canceled',
): Promise<void> {
  await tx.execute(change, scope, [id, status]);
}

const saved = scoped<{ is_set_up: boolean }>(
  'checkout.setup_intent_of_card',
  `select m.mandate_id is not null or m.network_transaction_id is not null or exists (
     select from checkout.setup_intents i
     where i.account_id = $1 and i.test_mode = $2 and i.payment_method_id = $3 and i.status = 'succeeded') as is_set_up
   from checkout.payment_methods m where m.account_id = $1 and m.test_mode = $2 and m.id = $3`,
);

/** Whether a card was set up, or kept by a payment of its owner. */
export async function isCardSetUp(db: Db, scope: Scope, paymentMethodId: string): Promise<boolean> {
  return (await db.row(saved, scope, [paymentMethodId]))?.is_set_up === true;
}

const next = scoped<{ tries: number }>(
  'checkout.setup_intent_next_try',
  `update checkout.setup_intents set tries = greatest(tries, $4 + 1)
   where account_id = $1 and test_mode = $2 and id = $3 returning tries`,
);

/** Moves on from a key that is used up, unless another request has already. Answers the next. */
export async function takeNextTry(tx: Tx, scope: Scope, id: string, usedUp: number): Promise<number> {
  return (await tx.row(next, scope, [id, usedUp]))?.tries ?? usedUp + 1;
}

const succeed = scoped(
  'checkout.setup_intent_succeed',
  `update checkout.setup_intents set status = 'succeeded', payment_method_id = $4
   where account_id = $1 and test_mode = $2 and id = $3`,
);

/** Records that this card was set up, whichever another request has begun to set up meanwhile. */
export async function markSetUp(tx: Tx, scope: Scope, id: string, paymentMethodId: string): Promise<void> {
  await tx.execute(succeed, scope, [id, paymentMethodId]);
}
