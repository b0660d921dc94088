import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type ProcessorAccount, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';

/** Notes that the bank has asked for authentication; a second note of the same changes nothing. */
export async function noteAuthentication(
  tx: Tx,
  scope: Scope,
  asked: { readonly sessionId: string; readonly attemptId: string; readonly at: Date },
): Promise<void> {
  await tx.execute(insert, scope, [asked.sessionId, asked.attemptId, asked.at]);
}

/** A charge that waits for its shopper. */
export interface PendingAuthentication {
  readonly attemptId: string;
  readonly processorIntentId: string;
  readonly processorAccount: ProcessorAccount | null;
}

/** The charge of a session that waits for its shopper, while it may still be confirmed. A session charges one card after the other. */
export async function findPendingAuthentication(
  db: Db,
  scope: Scope,
  sessionId: string,
): Promise<PendingAuthentication | undefined> {
  const row = await db.row(pending, scope, [sessionId]);
  return (
    row && {
      attemptId: row.id,
      processorIntentId: row.processor_intent_id,
      processorAccount: processorAccountOfRow(row),
    }
  );
}

const insert = scoped<never>(
  'authentications.note',
  `insert into checkout.authentications (account_id, test_mode, session_id, attempt_id, requested_at)
   values ($1, $2, $3, $4, $5) on conflict do nothing`,
);

// From the unsettled attempts of the session, of which there are at most two: it may have had many authentications.
const pending = scoped<{ id: string; processor_intent_id: string } & ProcessorAccountRow>(
  'authentications.pending',
  `select a.id, a.processor_intent_id, a.processor, a.processor_account from checkout.charge_attempts a
   where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = $3
     and a.status in ('sending', 'unknown') and a.confirm_until > clock_timestamp()
     and exists (
       select from checkout.authentications w
       where w.account_id = $1 and w.test_mode = $2 and w.session_id = $3 and w.attempt_id = a.id
     )
   order by a.leg limit 1`,
);
