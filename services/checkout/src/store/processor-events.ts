import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** An event as the processor delivered it. */
export interface ReceivedEvent {
  readonly processor: string;
  readonly eventId: string;
  readonly type: string;
  readonly objectId: string;
  readonly createdAt: Date;
}

/** Stores an event; false when it is known already. */
export async function storeEvent(tx: Tx, scope: Scope, event: ReceivedEvent): Promise<boolean> {
  const { processor, eventId, type, objectId, createdAt } = event;
  return (await tx.execute(insert, scope, [processor, eventId, type, objectId, createdAt])) === 1;
}

/** Has an unsettled attempt with this intent of the processor, which no process works on, checked now; false when there is none. */
export async function checkAttemptNow(tx: Tx, scope: Scope, processorIntentId: string): Promise<boolean> {
  return (await tx.execute(checkNow, scope, [processorIntentId])) === 1;
}

/** Deletes events that the processor no longer lists, at most `batch`. */
export async function pruneProcessorEvents(db: Db, batch: number): Promise<number> {
  return Number((await db.row(prune, null, [batch]))?.pruned ?? 0n);
}

const insert = scoped<never>(
  'processor_events.insert',
  `insert into checkout.processor_events (account_id, test_mode, processor, id, type, object_id, created_at)
   values ($1, $2, $3, $4, $5, $6, $7) on conflict (account_id, test_mode, processor, id) do nothing`,
);
const checkNow = scoped<never>(
  'processor_events.check_attempt_now',
  `update checkout.charge_attempts set next_check_at = clock_timestamp()
    where account_id = $1 and test_mode = $2 and processor_intent_id = $3 and status in ('sending', 'unknown')
      and next_check_at > clock_timestamp() and lease_until <= clock_timestamp()`,
);
const prune = unscoped<{ pruned: bigint }>(
  'processor_events.prune',
  'select checkout.prune_processor_events($1) as pruned',
);
