import { withTx } from '@eligo/postgres';
import { plansOf } from '@eligo/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { cancelSession, expireIfDue } from '../src/actions/end-session.ts';
import { updateSession } from '../src/actions/update-session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import {
  deleteCatalogTask,
  dueCatalogTasks,
  insertCatalogTask,
  nextCatalogTaskInMs,
  postponeCatalogTask,
} from '../src/store/catalog-tasks.ts';
import { readCreationFacts } from '../src/store/creation-facts.ts';
import {
  findCustomer,
  findCustomers,
  listCustomers,
  lockCustomer,
  noteProcessorCustomer,
  saveCustomer,
} from '../src/store/customers.ts';
import { dueSessions, dueSessionsOnClocks, nextDueSession } from '../src/store/due-sessions.ts';
import * as paymentMethods from '../src/store/payment-methods.ts';
import { pruneSessionKeys } from '../src/store/session-keys.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import { loadSession } from '../src/store/sessions.ts';
import { listSetupIntents } from '../src/store/setup-intents.ts';
import { actingTime, findTestClock, mirrorTestClock, settleClock, settledClocks } from '../src/store/test-clocks.ts';
import { openWorld, sessionMessage, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const acrossAccounts = /due_sessions|settled_clocks|due_catalog_tasks|next_due_session|next_catalog_task|prune_/;

test('every statement of the store finds its rows by an index that leads with account and mode', async () => {
  // One connection, so that all statements are prepared on it, where they can be read back.
  const database = world.test.open('checkout', { max: 1 });
  await runStore({ ...world, database, resources: { ...world.resources, database } });
  const { adminUrl } = world.test;
  const { checked, faults } = await plansOf({ name: 'checkout', database, adminUrl, acrossAccounts });
  expect(checked).toBeGreaterThan(30);
  expect(faults).toEqual([]);
});

async function runStore({ database, scope, resources, call, clock }: World): Promise<void> {
  const make = (parts: object) => createSession(resources, call, sessionRequestOf(sessionMessage(parts)));
  const nobody = {
    firstName: null,
    lastName: null,
    email: null,
    phone: null,
    employer: null,
    shipping: null,
    metadata: {},
  };
  const { customerId } = await createCustomer(
    resources,
    scope,
    { ...nobody, testClockId: null },
    { key: 'k', requestHash: new Uint8Array(32) },
  );
  const made = await make({
    customerId,
    sellingPlans: [{ id: 'plan' }],
    fees: [{ amountCents: 1n }],
    discounts: [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }],
    idempotency: { key: 'k', requestHash: new Uint8Array(32) },
  });
  await loadSession(database, scope, made.id);
  await loadSessionLines(database, scope, made.id);
  await readCreationFacts(database, scope, { customerId, paymentMethodId: 'fpm_x', key: 'k' });
  await updateSession(resources, scope, made.id, { metadata: { a: 'b' } });
  await expireIfDue(resources, scope, made.id);
  await cancelSession(resources, scope, made.id);
  await dueSessions(database, clock.now(), 1);
  await dueSessionsOnClocks(database, 1);
  await nextDueSession(database, clock.now());
  await settledClocks(database, 1);
  await dueCatalogTasks(database, 1);
  await nextCatalogTaskInMs(database);
  await actingTime(database, scope, clock, customerId);
  await findTestClock(database, scope, 'fclk_x');
  await findCustomer(database, scope, customerId);
  await findCustomers(database, scope, [customerId]);
  await paymentMethods.findPaymentMethod(database, scope, 'fpm_x');
  await paymentMethods.findPaymentMethods(database, scope, ['fpm_x']);
  await withTx(database, scope, async (tx) => {
    await insertCatalogTask(tx, scope, made.id, 'activate');
    await postponeCatalogTask(tx, { scope, sessionId: made.id, kind: 'activate' });
    await deleteCatalogTask(tx, scope, made.id, 'activate');
    const customer = await lockCustomer(tx, scope, customerId);
    if (customer === undefined) throw new Error('the customer is gone');
    await saveCustomer(tx, scope, customer, customer);
    await noteProcessorCustomer(tx, scope, customerId, 'cus_x');
    await mirrorTestClock(tx, scope, 'fclk_x', clock.now(), null);
    await settleClock(tx, scope, 'fclk_x', clock.now());
    await paymentMethods.lockPaymentMethod(tx, scope, 'fpm_x');
    const method = { ...methodOf(customerId), version: 1n };
    await paymentMethods.insertPaymentMethod(tx, scope, method);
    await paymentMethods.savePaymentMethodOwner(tx, scope, method, {
      customerId: null,
      processorCustomerId: null,
      detachedAt: clock.now(),
    });
  });
  await withTx(database, null, (tx) => pruneSessionKeys(tx, 1));
  // A built query is prepared once its shape has come back a few times.
  for (let i = 0; i < 5; i++) {
    await listCustomers(database, scope, { limit: 1 }, 'a@example.com');
    await listCustomers(database, scope, { limit: 1, startingAfter: customerId }, undefined);
    await paymentMethods.listPaymentMethods(database, scope, { limit: 1 }, customerId);
    await listSetupIntents(database, scope, { limit: 1 }, customerId);
    await listSetupIntents(database, scope, { limit: 1 }, undefined);
    for (const filter of filters) {
      for await (const one of streamSessions(database, scope, { limit: 1 }, filter)) void one;
      for await (const one of streamSessions(database, scope, { limit: 1, startingAfter: made.id }, filter)) void one;
    }
  }
}

const filters: SessionFilter[] = [
  {},
  { status: 'open' },
  { mode: 'payment' },
  { customerId: 'fcus_x' },
  { customerEmail: 'a@example.com' },
  { subscriptionId: 'fsub_x' },
  { clientReferenceId: 'x' },
  { paymentIntentId: 'fpi_x' },
  { sellingPlan: 'plan' },
  { disputed: true },
  { createdAtOrAfter: new Date(0), createdBefore: new Date() },
];

function methodOf(customerId: string) {
  return {
    id: 'fpm_y',
    customerId,
    processorPaymentMethodId: 'pm_y',
    processorCustomerId: 'cus_x',
    offSession: true,
    card: { brand: 'visa', country: 'US', expMonth: 1, expYear: 2030, funding: 'debit', last4: '0072', hsaFsa: true },
    billingDetails: {},
    metadata: {},
    createdAt: new Date(),
    detachedAt: null,
  };
}
