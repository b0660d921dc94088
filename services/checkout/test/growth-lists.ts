import { seededId, vacuumDeleted } from '@eligo/testkit';
import { listCaptures } from '../src/store/capture-records.ts';
import { listCharges } from '../src/store/charges.ts';
import { listCustomers } from '../src/store/customers.ts';
import { listLetters } from '../src/store/letters.ts';
import { listIntents } from '../src/store/payment-intents.ts';
import { listPaymentLinks } from '../src/store/payment-links.ts';
import * as paymentMethods from '../src/store/payment-methods.ts';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import { listSetupIntents } from '../src/store/setup-intents.ts';
import type { ChargingFixture } from './charging-fixture.ts';

const firstCustomer = seededId('fcus', 1);

/** Each filter of each list, from both ends and from the middle. */
export async function exerciseLists({ database, scope }: ChargingFixture): Promise<void> {
  for (const middle of [{}, { startingAfter: 100 }, { endingBefore: 100 }] as const) {
    const page = (prefix: string) => ({
      limit: 10,
      ...Object.fromEntries(Object.entries(middle).map(([side, number]) => [side, seededId(prefix, number)])),
    });
    await listCustomers(database, scope, page('fcus'), undefined);
    await listCustomers(database, scope, page('fcus'), 'c100@example.com');
    for (const active of [undefined, true, false]) await listPaymentLinks(database, scope, page('fplink'), active);
    for (const customerId of [undefined, firstCustomer]) {
      await listSetupIntents(database, scope, page('fseti'), customerId);
      await listIntents(database, scope, page('fpi'), { customerId });
    }
    await paymentMethods.listPaymentMethods(database, scope, page('fpm'), firstCustomer);
    await listIntents(database, scope, page('fpi'), { sessionId: seededId('fcs', 1) });
    await listCharges(database, scope, page('fch'), undefined);
    await listCharges(database, scope, page('fch'), seededId('fpi', 1));
    for (const filter of filters) {
      for await (const one of streamSessions(database, scope, page('fcs'), filter)) void one;
    }
  }
  for await (const one of streamSessions(database, scope, { limit: 500 }, {})) void one;
}

/** Lists by a value that is nowhere, while all rows have another one: as often as a connection needs to keep its plan. The last that is run: it changes what was seeded. */
export async function exerciseRareValues({ database, scope, test }: ChargingFixture): Promise<void> {
  await test.admin(
    `set local session_replication_role = replica;
     delete from checkout.letters where status <> 'approved'; delete from checkout.payment_links where not active;
     update checkout.captures set status = 'failed', failure_code = 'expired';
     update checkout.customers set email = 'till@example.com'; update checkout.sessions set customer_email = 'till@example.com'`,
  );
  await vacuumDeleted(
    test,
    ['letters', 'payment_links', 'captures', 'customers', 'sessions'].map((table) => `checkout.${table}`),
  );
  const page = { limit: 10 };
  for (let times = 0; times < 8; times += 1) {
    await listLetters(database, scope, page, { customerId: undefined, sessionId: undefined, status: 'denied' });
    await listPaymentLinks(database, scope, page, false);
    await listCaptures(database, scope, page, {});
    await listCustomers(database, scope, page, 'nobody@example.com');
    for await (const one of streamSessions(database, scope, page, { customerEmail: 'nobody@example.com' })) void one;
  }
}

const filters: SessionFilter[] = [
  {},
  { status: 'open' },
  { status: 'canceled', mode: 'payment' },
  { mode: 'payment' },
  { customerId: firstCustomer },
  { customerId: firstCustomer, status: 'open' },
  { customerEmail: 'c1@example.com' },
  { subscriptionId: seededId('fsub', 1) },
  { clientReferenceId: 'ref' },
  { paymentIntentId: seededId('fpi', 1) },
  { sellingPlan: 'plan' },
  { disputed: true },
  { disputed: false },
  { createdAtOrAfter: new Date(0), createdBefore: new Date() },
];
