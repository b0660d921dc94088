import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Database, inPages, type Scope, withTx } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import { customerMessage } from '../messages/customer.ts';
import { lockCustomer, saveCustomer } from '../store/customers.ts';
import {
  eraseAnswers,
  eraseCards,
  eraseCardsOfSessions,
  eraseDeletedCustomer,
  eraseSessions,
  eraseTypedCards,
  finishErasure,
  insertErasure,
} from '../store/erasures.ts';
import { intentsOfCustomer, intentsOfSessions } from '../store/intents-of-erased.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { expireIfDue } from './end-session.ts';

/** Whose data is erased, and for whom. */
export interface ErasureRequest {
  readonly customerId: string;
  readonly requestedBy: string;
}

/** What a run has gone through. */
export interface Erasure {
  readonly sessions: number;
  readonly letters: number;
  readonly paymentMethods: number;
}

/** Where it works: `database` is open as a role that row-level security does not bind. */
export interface ErasureWork {
  readonly database: Database;
  readonly clock: Clock;
  /** Erases what other services keep of these sessions and payment intents; safe to repeat. */
  readonly eraseElsewhere: (sessionIds: readonly string[], paymentIntentIds: readonly string[]) => Promise<void>;
  /** Erases what others keep of the customer, once all else is erased and before the run is recorded as finished; safe to repeat. */
  readonly eraseLast: () => Promise<void>;
}

// Locked together while they are erased, which takes some milliseconds.
const rowsOfPage = 50;

/**
 * Erases what names a person: the customer, addresses, answers for letters, billing details of cards, and what the partner wrote beside them. The customer is
 * deleted first, so that no card of theirs is charged again, and no payment of their sessions begins. Their open sessions expire. Amounts, eligibility classes, decisions and identifiers stay. A run that is stopped is repeated from the
 * beginning; each page is a transaction and safe to repeat. Every run is recorded.
 */
export async function eraseCustomer(
  { database, clock, eraseElsewhere, eraseLast }: ErasureWork,
  scope: Scope,
  { customerId, requestedBy }: ErasureRequest,
): Promise<Erasure> {
  const number = await begin(database, clock, scope, { customerId, requestedBy });
  let [sessions, letters] = [0, 0];
  // A session that cannot expire keeps nothing else from being erased.
  const stillOpen: string[] = [];
  let cause: unknown;
  const eraseAll = async (erase: typeof eraseCards): Promise<number> => {
    let erased = 0;
    await inPages<string>(rowsOfPage, async (after = '') => {
      const ids = await withTx(database, scope, (tx) => erase(tx, scope, customerId, after, rowsOfPage));
      erased += ids.length;
      return ids;
    });
    return erased;
  };
  await inPages<string>(rowsOfPage, async (after = '') => {
    const page = await withTx(database, scope, async (tx) => {
      const { ids, open } = await eraseSessions(tx, scope, customerId, after, rowsOfPage);
      await eraseCardsOfSessions(tx, scope, customerId, ids);
      const intents = await intentsOfSessions(tx, scope, ids);
      return { ids, open, intents, letters: await eraseAnswers(tx, scope, ids) };
    });
    await eraseElsewhere(page.ids, page.intents);
    // Once what names the person is erased, so that the event of the end does not name it. One that is being charged is complete if the charge succeeds, ends by its time
    // otherwise, and takes no other card.
    for (const id of page.open) {
      await expireIfDue({ database, clock }, scope, id, { evenIfNotDue: true }).catch((error) => {
        stillOpen.push(id);
        cause = error;
      });
    }
    sessions += page.ids.length;
    letters += page.letters;
    return page.ids;
  });
  await eraseAll(eraseTypedCards);
  const paymentMethods = await eraseAll(eraseCards);
  // Those of renewals have no session.
  await inPages<string>(rowsOfPage, async (after = '') => {
    const ids = await withTx(database, scope, (tx) => intentsOfCustomer(tx, scope, customerId, after, rowsOfPage));
    await eraseElsewhere([], ids);
    return ids;
  });
  await eraseLast();
  if (stillOpen.length > 0) {
    const ids = stillOpen.join(', ');
    throw new Error(`Erased, but these sessions could not be expired: ${ids}. Repeat the erasure.`, { cause });
  }
  await withTx(database, scope, (tx) => finishErasure(tx, scope, customerId, number));
  return { sessions, letters, paymentMethods };
}

const nobody = {
  firstName: null,
  lastName: null,
  email: null,
  phone: null,
  employer: null,
  shipping: null,
  metadata: {},
};

function begin(
  database: Database,
  clock: Clock,
  scope: Scope,
  { customerId, requestedBy }: ErasureRequest,
): Promise<bigint> {
  return withTx(database, scope, async (tx) => {
    const before = await lockCustomer(tx, scope, customerId);
    if (before === undefined) {
      if (!(await eraseDeletedCustomer(tx, scope, customerId))) throw new Failure('customer_not_found');
      return insertErasure(tx, scope, customerId, requestedBy);
    }
    const deletedAt = await timeOnClock(tx, scope, clock, before.testClockId);
    const after = await saveCustomer(tx, scope, before, { ...before, ...nobody, updatedAt: deletedAt, deletedAt });
    await append(tx, {
      type: 'customer.deleted',
      aggregateId: customerId,
      ...scope,
      at: deletedAt,
      object: { case: 'customer', value: customerMessage(scope, after) },
    });
    return insertErasure(tx, scope, customerId, requestedBy);
  });
}
