import type { Page } from '@eligo/postgres';
import { type Db, readPage, type Scope, scoped, sqlBuilder, type Tx } from '@eligo/postgres';
import { type ProcessorAccount, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { Customer } from '../domain/customer.ts';

/** A customer that was not deleted, or undefined. */
export async function findCustomer(db: Db, scope: Scope, id: string): Promise<Customer | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && customerOfRow(row);
}

/** What the processor calls a customer, a deleted one as well; undefined before it knows of them. */
export async function findProcessorCustomer(db: Db, scope: Scope, id: string): Promise<string | undefined> {
  return (await db.row(selectAtProcessor, scope, [id]))?.processor_customer_id ?? undefined;
}

/** A customer that was not deleted, locked until the transaction ends. */
export async function lockCustomer(tx: Tx, scope: Scope, id: string): Promise<Customer | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
  return row && customerOfRow(row);
}

/** Those of the ids that are customers and were not deleted, in no order. */
export async function findCustomers(db: Db, scope: Scope, ids: readonly string[]): Promise<Customer[]> {
  return (await db.rows(selectMany, scope, [ids])).map(customerOfRow);
}

/** A page of customers, newest first; `email` matches exactly. */
export async function listCustomers(
  db: Db,
  scope: Scope,
  page: Page,
  email: string | undefined,
): Promise<{ customers: Customer[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<CustomerRow>(
    db,
    scope,
    {
      table: 'checkout.customers',
      id: 'id',
      columns: [sqlBuilder.raw(columns)],
      filter: (query) => {
        query.whereNull('deleted_at');
        if (email !== undefined) query.where('email', email);
      },
    },
    page,
  );
  return { customers: rows.map(customerOfRow), hasMore };
}

export async function insertCustomer(tx: Tx, scope: Scope, customer: Customer): Promise<void> {
  await tx.execute(insert, scope, [
    customer.id,
    customer.firstName,
    customer.lastName,
    customer.email,
    customer.phone,
    customer.employer,
    customer.shipping,
    customer.metadata,
    customer.testClockId,
    customer.createdAt,
  ]);
}

/** Writes what may change of a customer; throws when the row is no longer the one that was read. */
export async function saveCustomer(tx: Tx, scope: Scope, before: Customer, after: Customer): Promise<Customer> {
  const written = await tx.execute(update, scope, [
    before.id,
    before.version,
    after.firstName,
    after.lastName,
    after.email,
    after.phone,
    after.employer,
    after.shipping,
    after.metadata,
    after.updatedAt,
    after.deletedAt,
  ]);
  if (written !== 1) throw new Error('A customer changed after it was read');
  return { ...after, version: before.version + 1n };
}

/**
 * Notes the processor's customer, once for each processor account; returns the one that counts, which may be another call's. Cards that were saved with a
 * customer at another account keep the name of that one.
 */
export async function noteProcessorCustomer(
  tx: Tx,
  scope: Scope,
  id: string,
  processorId: string,
  { processor, account }: ProcessorAccount,
): Promise<string> {
  const row = await tx.row(noteProcessor, scope, [id, processorId, processor, account]);
  if (row === undefined) throw new Error('A customer was deleted after it was read');
  return row.processor_customer_id;
}

interface CustomerRow extends ProcessorAccountRow {
  readonly id: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly employer: string | null;
  readonly shipping: Customer['shipping'];
  readonly metadata: Record<string, string>;
  readonly test_clock_id: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
  readonly processor_customer_id: string | null;
  readonly version: bigint;
}

const columns = `id, first_name, last_name, email, phone, employer, shipping, metadata, test_clock_id, created_at, updated_at,
  deleted_at, processor_customer_id, processor, processor_account, version`;

function customerOfRow(row: CustomerRow): Customer {
  return {
    id: row.id,
    firstName: row.first_name,
    lastName: row.last_name,
    email: row.email,
    phone: row.phone,
    employer: row.employer,
    shipping: row.shipping,
    metadata: row.metadata,
    testClockId: row.test_clock_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
    processorCustomerId: row.processor_customer_id,
    processorAccount: processorAccountOfRow(row),
    version: row.version,
  };
}

const selectOne = scoped<CustomerRow>(
  'customers.find',
  `select ${columns} from checkout.customers where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is null`,
);

const selectAtProcessor = scoped<{ processor_customer_id: string | null }>(
  'customers.find_at_processor',
  'select processor_customer_id from checkout.customers where account_id = $1 and test_mode = $2 and id = $3',
);

const selectForUpdate = scoped<CustomerRow>(
  'customers.lock',
  `select ${columns} from checkout.customers
   where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is null for update`,
);

const selectMany = scoped<CustomerRow>(
  'customers.find_many',
  `select ${columns} from checkout.customers
   where account_id = $1 and test_mode = $2 and id = any($3::text[]) and deleted_at is null`,
);

const insert = scoped<never>(
  'customers.insert',
  `insert into checkout.customers
     (account_id, test_mode, id, first_name, last_name, email, phone, employer, shipping, metadata, test_clock_id,
      created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)`,
);

const update = scoped<never>(
  'customers.save',
  `update checkout.customers set first_name = $5, last_name = $6, email = $7, phone = $8, employer = $9, shipping = $10,
     metadata = $11, updated_at = $12, deleted_at = $13, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4`,
);

const noteProcessor = scoped<{ processor_customer_id: string }>(
  'customers.note_processor',
  `update checkout.customers set processor = $5, processor_account = $6, processor_customer_id =
     case when processor_customer_id is not null and (processor is null or (processor = $5 and processor_account = $6))
       then processor_customer_id else $4 end
   where account_id = $1 and test_mode = $2 and id = $3 returning processor_customer_id`,
);

/** Whether the customer of a session is still there, or it has none, as SQL. `offset 0` keeps it a look-up (ADR 3). */
export const customerExistsText: string = `(s.customer_id is null or not exists (
     select from checkout.customers d
     where d.account_id = $1 and d.test_mode = $2 and d.id = s.customer_id and d.deleted_at is not null offset 0))`;
