import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { cancelSession, expireSession } from './end-session.ts';
import { voidHolds } from './void-holds.ts';

/** Cancels a session at the partner's word and voids its holds, as far as that is quickly done. Throws as `cancelSession` does. */
export async function cancelByPartner(context: Context, scope: Scope, id: string): Promise<Session> {
  return withHoldsVoided(context, scope, await cancelSession(context, scope, id, { by: 'partner' }));
}

/** The same at the word of the shopper on the page, for an open session alone. */
export async function cancelByShopper(context: Context, scope: Scope, id: string): Promise<Session> {
  return withHoldsVoided(context, scope, await cancelSession(context, scope, id, { by: 'shopper' }));
}

/** The same for an open session that expires before its time. Throws as `expireSession` does. */
export async function expireByPartner(context: Context, scope: Scope, id: string): Promise<Session> {
  return withHoldsVoided(context, scope, await expireSession(context, scope, id));
}

async function withHoldsVoided(context: Context, scope: Scope, ended: Session): Promise<Session> {
  await voidHolds(context, scope, ended);
  return ended;
}
