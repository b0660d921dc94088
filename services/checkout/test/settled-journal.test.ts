import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema, type JournalEntry } from '@eligo/proto/events/v1/events';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openChargeGroups } from '../src/actions/charge-groups.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { tellJournal } from '../src/actions/tell-journal.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { meetAt } from './one-by-one.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

/** Charges so many invoices, all in one transaction, and gives the ids of their ledger entries in order. */
async function chargedTogether(count: number): Promise<string[]> {
  const { context, scope } = fixture;
  const { database, budgets, clock } = context;
  const failpoint = meetAt(['charge.intent_created', 'charge.before_settle'], count);
  const together = { ...context, failpoint, groups: openChargeGroups({ database, clock, failpoint, budgets }) };
  const { id: paymentMethodId, customerId } = await fixture.card('hsa');
  const charged = await Promise.all(
    Array.from({ length: count }, () =>
      chargeInvoice(together, scope, {
        operationId: newId('charge_attempt'),
        invoiceId: newId('invoice'),
        subscriptionId: newId('subscription'),
        ...{ customerId, paymentMethodId, amountCents: cents(2_500), leg: 'health', at: new Date() },
      }),
    ),
  );
  const rows = await fixture.test.admin<{ id: string }>(
    'select id from checkout.ledger_entries where payment_intent_id = any($1) order by id',
    [charged.map(({ intent }) => intent?.id)],
  );
  return rows.map(({ id }) => id);
}

async function waitingOf(entryIds: readonly string[]): Promise<number> {
  const rows = await fixture.test.admin(
    'select from checkout.ledger_entries where id = any($1) and tell_at is not null',
    [entryIds],
  );
  return rows.length;
}

/** What the ledger was told of these entries, one list for each event. */
async function toldOf(entryIds: readonly string[]): Promise<JournalEntry[][]> {
  const rows = await fixture.test.admin<{ payload: Buffer }>(
    `select payload from checkout.outbox where type = 'command.journal' and aggregate_id = any($1) order by event_id`,
    [entryIds],
  );
  return rows.map(({ payload }) => {
    const { object } = fromBinary(EventSchema, payload);
    const entries = object.case === 'journalEntries' ? object.value.entries : [];
    return entries.toSorted((one, other) => (one.entryId < other.entryId ? -1 : 1));
  });
}

it('eight charges of invoices are told to the ledger in the transaction that settles them, as the job would tell them [D14.150]', async () => {
  const entryIds = await chargedTogether(8);
  expect(await waitingOf(entryIds)).toBe(0);
  const [bySettlement, ...none] = await toldOf(entryIds);
  expect(bySettlement?.map(({ entryId }) => entryId)).toEqual(entryIds);
  expect(none).toEqual([]);

  await fixture.test.admin(`update checkout.ledger_entries set tell_at = '2020-01-01' where id = any($1)`, [entryIds]);
  await tellJournal(fixture.context, fixture.scope);
  const [, byJob] = await toldOf(entryIds);
  expect(byJob).toEqual(bySettlement);
});

it('seven charges of invoices wait for the job, which tells the ledger of them with others [D14.150]', async () => {
  const entryIds = await chargedTogether(7);
  expect(await waitingOf(entryIds)).toBe(7);
  expect(await toldOf(entryIds)).toEqual([]);
});
