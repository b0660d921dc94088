import { seededId } from '@eligo/testkit';
import { systemClock } from '@eligo/values';
import { eraseCustomer } from '../src/actions/erase-customer.ts';
import { visitIntents } from '../src/actions/visit-intents.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** Erases a customer who has many sessions and cards, as the operator's command does: row-level security does not bind it. */
export async function exerciseErasures({ test, scope }: ChargingFixture): Promise<void> {
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
}
