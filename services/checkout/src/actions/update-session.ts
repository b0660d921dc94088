import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session, StorefrontPaymentDetails } from '../domain/session.ts';
import { lockSession, saveSession } from '../store/sessions.ts';

/** What a partner may change of a session, in any state: what is undefined stays. */
export interface SessionChange {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly storefrontPaymentDetails?: StorefrontPaymentDetails;
  readonly clientReferenceId?: string;
}

/** Changes what a partner keeps on a session; its amounts and states are not the partner's to change. */
export async function updateSession(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  id: string,
  change: SessionChange,
): Promise<Session> {
  return withTx(database, scope, async (tx) => {
    const before = await lockSession(tx, scope, id);
    if (before === undefined) throw new Failure('checkout_session_not_found');
    return saveSession(tx, scope, before, { ...before, ...change });
  });
}
