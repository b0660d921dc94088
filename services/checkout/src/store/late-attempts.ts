import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { canceledLate } from '../domain/charge-attempt.ts';

const end = scoped(
  'checkout.charge_attempt_end_confirm',
  `update checkout.charge_attempts set confirm_until = clock_timestamp()
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status in ('created', 'sending', 'unknown')
     and confirm_until > clock_timestamp()`,
);

/** Ends the time in which an attempt may be confirmed, for the holder of its epoch: no fence is passed any more. */
export async function endConfirmTime(
  tx: Tx,
  scope: Scope,
  { id, epoch }: { readonly id: string; readonly epoch: number },
): Promise<void> {
  await tx.execute(end, scope, [id, epoch]);
}

const wait = scoped(
  'checkout.charge_attempt_await_customer',
  `update checkout.charge_attempts set authenticate_until = created_at + interval '24 hours'
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status in ('sending', 'unknown') and authenticate_until is null`,
);

/**
 * Has an attempt wait for its customer for a day, for the holder of its epoch. A subscription expires an hour before that, and ends the wait. The time in which
 * Eligo confirms it stays as it is: only its customer can go on.
 */
export async function awaitCustomer(
  tx: Tx,
  scope: Scope,
  { id, epoch }: { readonly id: string; readonly epoch: number },
): Promise<void> {
  await tx.execute(wait, scope, [id, epoch]);
}

const abandon = scoped(
  'checkout.charge_attempt_abandon_late',
  `update checkout.charge_attempts set status = 'abandoned', failure_code = $4, epoch = epoch + 1
   where account_id = $1 and test_mode = $2 and id = $3 and status in ('sending', 'unknown')
     and confirm_until <= clock_timestamp()`,
);

/**
 * Records that an attempt which was sent moved nothing and never will: its time is over, and its intent is canceled at the processor. False when
 * it was settled before.
 */
export async function abandonLateAttempt(tx: Tx, scope: Scope, id: string): Promise<boolean> {
  return (await tx.execute(abandon, scope, [id, canceledLate])) === 1;
}
