import { append } from '@eligo/events';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { announcementOf } from '../domain/letter.ts';
import { letterMessage } from '../messages/letter.ts';
import { findCustomer } from '../store/customers.ts';
import { findLetter, findValidLetters } from '../store/letters.ts';
import { markEndAnnounced } from '../store/letters-to-announce.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';

/**
 * Tells the shop, once, that a customer's letter is about to end, so that renewals and later purchases can have a new one in time. Nothing is told if another
 * letter serves the product for longer, or the customer was deleted. Returns false when it is not due or was done before.
 */
export async function announceLetterEnd(
  needs: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  id: string,
): Promise<boolean> {
  return withTx(needs.database, scope, async (tx) => {
    const found = await findLetter(tx, scope, id);
    // The session before its letters, as every writer locks them.
    const session = found && (await lockSession(tx, scope, found.sessionId));
    if (found === undefined || session === undefined) return false;
    const { customerId, productId, validUntil } = found;
    if (validUntil === null || customerId === null) return false;
    const at = await timeOnClock(tx, scope, needs.clock, session.testClockId);
    const dueAt = announcementOf(validUntil);
    if (dueAt > at || !(await markEndAnnounced(tx, scope, id, at))) return false;
    const isThere = (await findCustomer(tx, scope, customerId)) !== undefined;
    const later = await findValidLetters(tx, scope, customerId, [productId], validUntil);
    if (!isThere || later.has(productId)) return true;
    await append(tx, {
      ...scope,
      type: 'consultation.will_expire',
      aggregateId: id,
      // On a test clock that has jumped, when it was due.
      at: found.testClockId === null ? at : dueAt,
      object: { case: 'letter', value: letterMessage(scope, found) },
    });
    return true;
  });
}
