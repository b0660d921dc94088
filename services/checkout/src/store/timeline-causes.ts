import { type Scope, scoped, type Tx } from '@eligo/postgres';

const cancel = scoped<never>(
  'session_cancellations.note',
  `insert into checkout.session_cancellations (account_id, test_mode, session_id, canceled_by) values ($1, $2, $3, $4)
   on conflict do nothing`,
);

/** Notes who canceled a session, for its timeline. */
export async function noteCancellation(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  by: 'shopper' | 'partner',
): Promise<void> {
  await tx.execute(cancel, scope, [sessionId, by]);
}

const fail = scoped<never>(
  'set_up_failures.note',
  `insert into checkout.set_up_failures (account_id, test_mode, session_id, setup_intent_id, failure_code, decline_code, failed_at)
   values ($1, $2, $3, $4, $5, $6, $7)`,
);

/** Notes that a card could not be saved for a session, for its timeline. The caller counts it as a decline, which bounds these. */
export async function noteSetUpFailure(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  failure: {
    readonly setupIntentId: string;
    readonly code: string;
    readonly declineCode?: string | undefined;
    readonly at: Date;
  },
): Promise<void> {
  const { setupIntentId, code, declineCode, at } = failure;
  await tx.execute(fail, scope, [sessionId, setupIntentId, code, declineCode ?? null, at]);
}
