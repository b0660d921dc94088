import { withTx } from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { systemClock } from '@eligo/values';
import { eraseCustomer } from '../src/actions/erase-customer.ts';
import { eraseGuest, findGuestSessions, visitIntentsOfSessions } from '../src/actions/erase-guest.ts';
import { visitIntents } from '../src/actions/visit-intents.ts';
import { isErasedGuest } from '../src/store/guest-erasures.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** Erases a customer who has many sessions and cards, as the operator's command does: row-level security does not bind it. */
export async function exerciseErasures(fixture: ChargingFixture): Promise<void> {
  const { test, scope } = fixture;
  const database = test.open('checkout', { url: test.adminUrl, statementTimeoutMs: 30_000 });
  const work = {
    database,
    clock: systemClock,
    eraseElsewhere: async () => undefined,
    eraseLast: async () => undefined,
  };
  const customerId = seededId('fcus', 1);
  await visitIntents(database, scope, customerId, async () => undefined);
  await eraseCustomer(work, scope, { customerId, requestedBy: 'Request 1' });
  // Again, as after a run that was stopped: the customer is deleted by now.
  await eraseCustomer(work, scope, { customerId, requestedBy: 'Request 1' });
  const session = await fixture.session({ customerEmail: 'guest@example.com' });
  await findGuestSessions(database, scope, { sessionId: session.id });
  const { sessionIds } = await findGuestSessions(database, scope, { email: 'guest@example.com' });
  await visitIntentsOfSessions(database, scope, sessionIds, async () => undefined);
  await eraseGuest(work, scope, { sessionIds, requestedBy: 'Request 2' });
  await withTx(database, scope, (tx) => isErasedGuest(tx, scope, session.id));
}
