import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf } from '@eligo/service';
import type { ProcessorAccount } from '@eligo/values';
import { type SetUpStatus, type SubscriptionSetUp, setUpStates } from '../domain/subscription-set-up.ts';

/** The job that looks at set-ups of subscriptions. */
export const followSetUpsJob = 'follow-set-ups';

/** The set-up of a subscription, or undefined. */
export async function findSetUp(db: Db, scope: Scope, subscriptionId: string): Promise<SubscriptionSetUp | undefined> {
  const row = await db.row(select, scope, [subscriptionId]);
  return row && setUpOfRow(row);
}

/** The same, locked until the transaction ends. */
export async function lockSetUp(tx: Tx, scope: Scope, subscriptionId: string): Promise<SubscriptionSetUp | undefined> {
  const row = await tx.row(lock, scope, [subscriptionId]);
  return row && setUpOfRow(row);
}

/** Writes the set-up of a subscription; false where it has one. */
export async function insertSetUp(
  tx: Tx,
  scope: Scope,
  setUp: SubscriptionSetUp,
  expiresInMs: number,
): Promise<boolean> {
  const { subscriptionId, setupIntentId, customerId, namedCardId, processorAccount } = setUp;
  const written = await tx.execute(insert, scope, [
    ...[subscriptionId, setupIntentId, customerId, namedCardId, processorAccount.processor, processorAccount.account],
    expiresInMs,
  ]);
  return written === 1;
}

/** Notes what the processor calls it: the first name that is noted stays. */
export async function nameSetUp(
  tx: Tx,
  scope: Scope,
  subscriptionId: string,
  processorSetupIntentId: string,
): Promise<void> {
  await tx.execute(name, scope, [subscriptionId, processorSetupIntentId]);
}

/** Moves on from a key that is used up, unless another process has already. Returns the next one. */
export async function takeNextSetUpTry(tx: Tx, scope: Scope, subscriptionId: string, usedUp: number): Promise<number> {
  return (await tx.row(nextTry, scope, [subscriptionId, usedUp]))?.tries ?? usedUp + 1;
}

/** Writes what became of a set-up that the caller has locked. */
export async function moveSetUp(
  tx: Tx,
  scope: Scope,
  setUp: SubscriptionSetUp,
  status: SetUpStatus,
  savedCardId: string | null,
): Promise<SubscriptionSetUp> {
  setUpStates.assertMove(setUp.status, status);
  await tx.execute(move, scope, [setUp.subscriptionId, status, savedCardId]);
  return { ...setUp, status, savedCardId };
}

/** Gives up the set-up of a subscription, unless it is of this card; false when none waits. */
export async function giveUpSetUp(
  tx: Tx,
  scope: Scope,
  subscriptionId: string,
  unlessOfCard: string | null,
): Promise<boolean> {
  return (await tx.execute(giveUp, scope, [subscriptionId, unlessOfCard])) === 1;
}

/** Has a set-up of this name at the processor looked at now; false when there is none that waits. */
export async function checkSetUpNow(tx: Tx, scope: Scope, processorSetupIntentId: string): Promise<boolean> {
  return (await tx.execute(checkNow, scope, [processorSetupIntentId])) === 1;
}

/** Takes up a set-up that is due, and puts the next look off; undefined when another process did. */
export async function claimSetUp(tx: Tx, scope: Scope, subscriptionId: string): Promise<SubscriptionSetUp | undefined> {
  const row = await tx.row(claim, scope, [subscriptionId]);
  return row && setUpOfRow(row);
}

/** The set-ups of an account that have been due for longest. */
export async function dueSetUps(db: Db, scope: Scope, most: number): Promise<string[]> {
  return (await db.rows(due, scope, [most])).map((row) => row.subscription_id);
}

/** The accounts after a place that have a set-up to look at, at most `most`. */
export async function setUpTurns(db: Db, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await db.rows(turns, null, [after.accountId, after.testMode, most]), most);
}

/** How long until a set-up is to be looked at, negative when one is; undefined when none waits. */
export async function nextSetUpInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.in_ms ?? undefined;
}

interface SetUpRow {
  readonly subscription_id: string;
  readonly setup_intent_id: string;
  readonly customer_id: string;
  readonly payment_method_id: string | null;
  readonly processor: ProcessorAccount['processor'];
  readonly processor_account: string;
  readonly processor_setup_intent_id: string | null;
  readonly status: SetUpStatus;
  readonly tries: number;
  readonly ends: boolean;
  readonly saved_payment_method_id: string | null;
  readonly is_expired: boolean;
}

function setUpOfRow(row: SetUpRow): SubscriptionSetUp {
  return {
    subscriptionId: row.subscription_id,
    setupIntentId: row.setup_intent_id,
    customerId: row.customer_id,
    namedCardId: row.payment_method_id,
    processorAccount: { processor: row.processor, account: row.processor_account },
    processorSetupIntentId: row.processor_setup_intent_id,
    status: row.status,
    tries: row.tries,
    isGivenUp: row.ends,
    savedCardId: row.saved_payment_method_id,
    isExpired: row.is_expired,
  };
}

const columns = `subscription_id, setup_intent_id, customer_id, payment_method_id, processor, processor_account, processor_setup_intent_id, status,
  tries, ends, saved_payment_method_id, expires_at <= now() as is_expired`;
const one = 'account_id = $1 and test_mode = $2 and subscription_id = $3';
// A lost event is made up for soon after the customer was asked, and a set-up that waits for weeks is seldom asked about.
const soonest = `interval '15 seconds'`;
const latest = `interval '1 hour'`;
const waits = `status in ('beginning', 'waiting')`;

const select = scoped<SetUpRow>(
  'subscription_set_ups.find',
  `select ${columns} from checkout.subscription_set_ups where ${one}`,
);
const lock = scoped<SetUpRow>(
  'subscription_set_ups.lock',
  `select ${columns} from checkout.subscription_set_ups where ${one} for update`,
);
const insert = scoped<never>(
  'subscription_set_ups.insert',
  `insert into checkout.subscription_set_ups (account_id, test_mode, subscription_id, setup_intent_id, customer_id, payment_method_id, processor,
     processor_account, status, expires_at, next_check_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, 'beginning', now() + $9 * interval '1 millisecond', now() + ${soonest})
   on conflict (account_id, test_mode, subscription_id) do nothing`,
);
const name = scoped<never>(
  'subscription_set_ups.name',
  `update checkout.subscription_set_ups set processor_setup_intent_id = $4 where ${one} and processor_setup_intent_id is null`,
);
const nextTry = scoped<{ tries: number }>(
  'subscription_set_ups.next_try',
  `update checkout.subscription_set_ups set tries = greatest(tries, $4 + 1) where ${one} returning tries`,
);
const move = scoped<never>(
  'subscription_set_ups.move',
  `update checkout.subscription_set_ups set status = $4, saved_payment_method_id = $5 where ${one}`,
);
const giveUp = scoped<never>(
  'subscription_set_ups.give_up',
  `update checkout.subscription_set_ups set ends = true, next_check_at = least(next_check_at, now())
   where ${one} and ${waits} and ($4::text is null or payment_method_id is distinct from $4)`,
);
const checkNow = scoped<never>(
  'subscription_set_ups.check_now',
  `update checkout.subscription_set_ups set next_check_at = now()
   where account_id = $1 and test_mode = $2 and processor_setup_intent_id = $3 and ${waits} and next_check_at > now()`,
);
// After a tenth of the time that it has waited.
const claim = scoped<SetUpRow>(
  'subscription_set_ups.claim',
  `update checkout.subscription_set_ups set next_check_at = now() + least(greatest((now() - created_at) / 10, ${soonest}), ${latest})
   where ${one} and ${waits} and next_check_at <= now() returning ${columns}`,
);
const due = scoped<{ subscription_id: string }>(
  'subscription_set_ups.due',
  `select subscription_id from checkout.subscription_set_ups
   where account_id = $1 and test_mode = $2 and ${waits} and next_check_at <= now() order by next_check_at limit $3`,
);
const turns = unscoped<TurnRow>(
  'subscription_set_ups.turns',
  'select account_id, test_mode, is_due from checkout.set_up_turns($1, $2, $3)',
);
const next = unscoped<{ in_ms: number | null }>(
  'subscription_set_ups.next',
  'select (extract(epoch from checkout.next_set_up()) * 1000)::float8 as in_ms',
);
