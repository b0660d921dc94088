import { Failure } from '@eligo/failures';
import { type Database, inPages, type Scope, type Tx, withTx } from '@eligo/postgres';
import { eraseAnswers, eraseCardsOfSessions, eraseNames } from '../store/erasures.ts';
import {
  findOwnedSession,
  finishGuestErasures,
  insertGuestErasures,
  lockGuestSessions,
  type OwnedSession,
  sessionsOfEmail,
  unfinishedSessions,
} from '../store/guest-erasures.ts';
import { intentsOfSessions } from '../store/intents-of-erased.ts';
import { expireIfDue } from './end-session.ts';
import type { ErasureWork } from './erase-customer.ts';

/** A shopper without a customer record: one session, or every session with an e-mail address. */
export type Guest = { readonly sessionId: string } | { readonly email: string };

/**
 * The sessions of a guest. `customerIds` have sessions with the same address, which their own erasure reaches. `unfinishedIds` are of earlier runs that were stopped,
 * whose address may be erased by now: the next run finishes them, whomever it is for.
 */
export interface GuestSessions {
  readonly sessionIds: readonly string[];
  readonly unfinishedIds: readonly string[];
  readonly customerIds: readonly string[];
}

/** What a run has gone through. */
export interface GuestErasure {
  readonly sessions: number;
  readonly letters: number;
}

// Locked together while they are erased, which takes some milliseconds.
const rowsOfPage = 50;

/** Finds the sessions of a guest. Throws for a session that does not exist. `database` is open as a role that row-level security does not bind. */
export async function findGuestSessions(database: Database, scope: Scope, guest: Guest): Promise<GuestSessions> {
  const sessionIds: string[] = [];
  const customerIds = new Set<string>();
  const keep = ({ id, customerId }: { readonly id: string; readonly customerId: string | null }) => {
    if (customerId === null) sessionIds.push(id);
    else customerIds.add(customerId);
  };
  if ('sessionId' in guest) {
    const found = await findOwnedSession(database, scope, guest.sessionId);
    if (found === undefined) throw new Failure('checkout_session_not_found');
    keep(found);
  } else {
    await inPages<OwnedSession>(rowsOfPage, async (last) => {
      const page = await sessionsOfEmail(database, scope, guest.email, last?.id ?? '', rowsOfPage);
      for (const one of page) keep(one);
      return page;
    });
  }
  const unfinishedIds = new Set<string>();
  await inPages<string>(rowsOfPage, async (after = '') => {
    const page = await unfinishedSessions(database, scope, after, rowsOfPage);
    for (const id of page) unfinishedIds.add(id);
    return page;
  });
  for (const id of sessionIds) unfinishedIds.delete(id);
  return { sessionIds, unfinishedIds: [...unfinishedIds], customerIds: [...customerIds] };
}

/** Visits the payment intents of these sessions, page by page. Changes nothing. */
export async function visitIntentsOfSessions(
  database: Database,
  scope: Scope,
  sessionIds: readonly string[],
  visit: (paymentIntentIds: readonly string[]) => Promise<void>,
): Promise<void> {
  for (const page of pagesOf(sessionIds)) {
    await visit(await withTx(database, scope, (tx) => intentsOfSessions(tx, scope, page)));
  }
}

/**
 * Erases what names the person in sessions without a customer: addresses, answers for letters, billing details of cards, and what the partner wrote beside them. Open
 * sessions expire. Amounts, eligibility classes, decisions and identifiers stay. A session that a customer has taken over meanwhile is left to the customer's erasure.
 * Each page is a transaction and safe to repeat. Every run is recorded.
 */
export async function eraseGuest(
  { database, clock, eraseElsewhere, eraseLast }: ErasureWork,
  scope: Scope,
  { sessionIds, requestedBy }: { readonly sessionIds: readonly string[]; readonly requestedBy: string },
): Promise<GuestErasure> {
  let [sessions, letters] = [0, 0];
  const erased: string[] = [];
  // A session that cannot expire keeps nothing else from being erased. While it is charged, it cannot: its page takes another card if the charge is declined.
  const stillOpen: string[] = [];
  let cause: unknown;
  for (const page of pagesOf(sessionIds)) {
    const { ids, open, intents, answers } = await withTx(database, scope, async (tx) => {
      const guests = await lockGuestSessions(tx, scope, page);
      await insertGuestErasures(tx, scope, guests.ids, requestedBy);
      return { ...guests, ...(await erasePage(tx, scope, guests.ids)) };
    });
    await eraseElsewhere(ids, intents);
    // Once the person is erased, so that the event of the end does not name them.
    for (const id of open) {
      await expireIfDue({ database, clock }, scope, id, { evenIfNotDue: true }).catch((error) => {
        cause = error;
      });
    }
    // What the shopper gave on the page until then.
    const late = await withTx(database, scope, async (tx) => {
      const guests = await lockGuestSessions(tx, scope, open);
      return { ...guests, ...(await erasePage(tx, scope, guests.ids)) };
    });
    await eraseElsewhere([], late.intents);
    stillOpen.push(...late.open);
    sessions += ids.length;
    letters += answers + late.answers;
    erased.push(...ids);
  }
  await eraseLast();
  if (stillOpen.length > 0) {
    const ids = stillOpen.join(', ');
    throw new Error(`Erased, but these sessions could not be expired: ${ids}. Repeat the erasure.`, { cause });
  }
  for (const page of pagesOf(erased)) await withTx(database, scope, (tx) => finishGuestErasures(tx, scope, page));
  return { sessions, letters };
}

async function erasePage(
  tx: Tx,
  scope: Scope,
  ids: readonly string[],
): Promise<{ intents: string[]; answers: number }> {
  await eraseNames(tx, scope, ids);
  // The cards of no customer alone.
  await eraseCardsOfSessions(tx, scope, '', ids);
  return { intents: await intentsOfSessions(tx, scope, ids), answers: await eraseAnswers(tx, scope, ids) };
}

function pagesOf(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / rowsOfPage) }, (_, page) =>
    ids.slice(page * rowsOfPage, (page + 1) * rowsOfPage),
  );
}
