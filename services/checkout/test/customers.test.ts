import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCustomer, type NewCustomer } from '../src/actions/create-customer.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { updateCustomer } from '../src/actions/update-customer.ts';
import { findCustomer, findCustomers, listCustomers } from '../src/store/customers.ts';
import { actingTime } from '../src/store/test-clocks.ts';
import { type Fixture, openFixture, start } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const nobody: NewCustomer = {
  ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
  testClockId: null,
};
const hash = (n: number) => new Uint8Array(32).fill(n);

describe('creation', () => {
  test('gives the address an identifier, and tells of it', async () => {
    const shipping = { line1: '1 Main St', city: 'Springfield' };
    const customer = await make({ firstName: 'Ann', email: 'ann@example.com', shipping, metadata: { a: 'b' } });
    expect(customer).toMatchObject({
      firstName: 'Ann',
      email: 'ann@example.com',
      metadata: { a: 'b' },
      deleted: false,
    });
    expect(customer.shipping).toMatchObject({ ...shipping, shippingAddressId: expect.stringMatching(/^fsh_/) });
    expect(customer.createdAtMs).toBe(BigInt(start.getTime()));
    expect(await eventsOf(customer.customerId)).toEqual(['customer.created']);
  });

  test('under a key the same body replays the stored answer, and another body runs as new', async () => {
    const first = await make({ firstName: 'A' }, { key: 'k', requestHash: hash(1) });
    await updateCustomer(fixture.context, fixture.scope, first.customerId, { firstName: 'B' });
    expect(await make({ firstName: 'A' }, { key: 'k', requestHash: hash(1) })).toEqual(first);
    const other = await make({ firstName: 'C' }, { key: 'k', requestHash: hash(2) });
    expect(other.customerId).not.toBe(first.customerId);
  });

  test('eight at once under one key make one customer', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => make({}, { key: 'at once', requestHash: hash(3) })));
    expect(new Set(made.map(({ customerId }) => customerId)).size).toBe(1);
  });

  test('on a clock that is not there is a 422 at test_clock', async () => {
    await expect(make({ testClockId: 'fclk_none' })).rejects.toMatchObject({
      violations: [{ loc: ['body', 'customer', 'test_clock'], type: 'test_clock_not_found' }],
    });
  });
});

describe('update', () => {
  test('changes what is given, clears what is null, and tells of it', async () => {
    const { customerId } = await make({ firstName: 'A', email: 'a@example.com', phone: '1' });
    await updateCustomer(fixture.context, fixture.scope, customerId, { firstName: 'B', phone: null });
    expect(await findCustomer(fixture.database, fixture.scope, customerId)).toMatchObject({
      ...{ firstName: 'B', email: 'a@example.com', phone: null },
    });
    expect(await eventsOf(customerId)).toEqual(['customer.created', 'customer.updated']);
  });

  test('a whole object posted back unchanged keeps its address and causes no event', async () => {
    const shipping = { line1: '1 Main St', city: 'Springfield' };
    const made = await make({ firstName: 'A', shipping });
    const same = {
      firstName: 'A',
      lastName: null,
      shipping: { city: 'Springfield', line1: '1 Main St' },
      metadata: {},
    };
    const after = await updateCustomer(fixture.context, fixture.scope, made.customerId, same);
    expect(after.shipping?.shippingAddressId).toBe(made.shipping?.shippingAddressId);
    expect(await eventsOf(made.customerId)).toEqual(['customer.created']);
  });

  test('of one that is not there is a 404', async () => {
    const missing = updateCustomer(fixture.context, fixture.scope, 'fcus_none', { firstName: 'B' });
    await expect(missing).rejects.toMatchObject({ code: 'customer_not_found' });
  });
});

test('a deleted customer is found by no read, and tells of it once', async () => {
  const { customerId } = await make({ email: 'gone@example.com' });
  const kept = await make({ email: 'gone@example.com' });
  const deleted = await deleteCustomer(fixture.context, fixture.scope, customerId);
  expect(deleted.deletedAt).toEqual(start);
  expect(await findCustomer(fixture.database, fixture.scope, customerId)).toBeUndefined();
  const batch = await findCustomers(fixture.database, fixture.scope, [customerId, kept.customerId, 'fcus_none']);
  expect(batch.map(({ id }) => id)).toEqual([kept.customerId]);
  const { customers } = await listCustomers(fixture.database, fixture.scope, { limit: 10 }, 'gone@example.com');
  expect(customers.map(({ id }) => id)).toEqual([kept.customerId]);
  await expect(deleteCustomer(fixture.context, fixture.scope, customerId)).rejects.toMatchObject({
    code: 'customer_not_found',
  });
  expect(await eventsOf(customerId)).toEqual(['customer.created', 'customer.deleted']);
});

test("an action for a customer takes place at its clock's time, and otherwise now", async () => {
  const frozen = new Date('2029-05-05T00:00:00.000Z');
  const clockId = 'fclk_00000000000000000000000004';
  await fixture.test.admin(
    'insert into checkout.test_clocks (account_id, test_mode, id, frozen_time) values ($1, true, $2, $3)',
    [fixture.scope.accountId, clockId, frozen],
  );
  const onClock = await make({ testClockId: clockId });
  const plain = await make({});
  const time = (id: string | null) => actingTime(fixture.database, fixture.scope, fixture.clock, id);
  expect(await time(onClock.customerId)).toEqual(frozen);
  expect(await time(plain.customerId)).toEqual(start);
  expect(await time(null)).toEqual(start);
  expect(onClock.createdAtMs).toBe(BigInt(frozen.getTime()));
});

function make(parts: Partial<NewCustomer>, key?: { key: string; requestHash: Uint8Array }) {
  return createCustomer(fixture.context, fixture.scope, { ...nobody, ...parts }, key);
}

async function eventsOf(customerId: string): Promise<string[]> {
  const rows = await fixture.test.admin<{ payload: Buffer }>(
    'select payload from checkout.outbox where aggregate_id = $1 order by aggregate_seq',
    [customerId],
  );
  return rows.map(({ payload }) => fromBinary(EventSchema, payload).type);
}
