import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type ProcessorAccount, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { SessionStatus } from '../domain/session-states.ts';

/** What the creation of a session depends on, read in one round trip. */
export interface CreationFacts {
  /** Without a clock if that was deleted. */
  readonly customer:
    | { readonly email: string | null; readonly testClockId: string | null; readonly frozenTime: Date | null }
    | undefined;
  readonly paymentMethod:
    | {
        readonly customerId: string | null;
        readonly offSession: boolean;
        readonly processorAccount: ProcessorAccount | null;
      }
    | undefined;
  /** The last session that was created under the key. */
  readonly earlier:
    | {
        readonly requestHash: Buffer;
        readonly sessionId: string;
        readonly status: SessionStatus;
        /** The discount of the code that its shopper entered. */
        readonly enteredDiscountId: string | null;
      }
    | undefined;
}

export interface FactsQuery {
  readonly customerId: string | null;
  readonly paymentMethodId: string | null;
  readonly key: string | null;
}

/** Whether there is anything to be read. */
export function namesNothing({ customerId, paymentMethodId, key }: FactsQuery): boolean {
  return customerId === null && paymentMethodId === null && key === null;
}

/** The facts of some sessions in one round trip, in the order of the queries. */
export async function readCreationFacts(
  db: Db,
  scope: Scope,
  queries: readonly FactsQuery[],
): Promise<CreationFacts[]> {
  const rows = await db.rows(selectFacts, scope, [
    queries.map(({ customerId }) => customerId),
    queries.map(({ paymentMethodId }) => paymentMethodId),
    queries.map(({ key }) => key),
  ]);
  return rows.map(factsOfRow);
}

function factsOfRow(row: FactsRow): CreationFacts {
  return {
    customer:
      row.customer_id === null
        ? undefined
        : { email: row.customer_email, testClockId: row.test_clock_id, frozenTime: row.frozen_time },
    paymentMethod:
      row.payment_method_id === null || row.off_session === null
        ? undefined
        : {
            customerId: row.payment_method_customer_id,
            offSession: row.off_session,
            processorAccount: processorAccountOfRow(row),
          },
    earlier:
      row.request_hash === null || row.session_id === null || row.status === null
        ? undefined
        : {
            requestHash: row.request_hash,
            sessionId: row.session_id,
            status: row.status,
            enteredDiscountId: row.entered_discount_id,
          },
  };
}

/** What a session depends on that names nothing. */
export const noFacts: CreationFacts = { customer: undefined, paymentMethod: undefined, earlier: undefined };

interface FactsRow extends ProcessorAccountRow {
  readonly customer_id: string | null;
  readonly customer_email: string | null;
  readonly test_clock_id: string | null;
  readonly frozen_time: Date | null;
  readonly payment_method_id: string | null;
  readonly payment_method_customer_id: string | null;
  readonly off_session: boolean | null;
  readonly request_hash: Buffer | null;
  readonly session_id: string | null;
  readonly status: SessionStatus | null;
  readonly entered_discount_id: string | null;
}

const selectFacts = scoped<FactsRow>(
  'sessions.creation_facts',
  `select c.id as customer_id, c.email as customer_email, t.id as test_clock_id, t.frozen_time, p.id as payment_method_id,
     p.customer_id as payment_method_customer_id, p.off_session, p.processor, p.processor_account, k.request_hash, k.session_id, s.status, s.entered_discount_id
   from unnest($3::text[], $4::text[], $5::text[]) with ordinality wanted (customer_id, payment_method_id, key, place)
   left join checkout.customers c on c.account_id = $1 and c.test_mode = $2 and c.id = wanted.customer_id collate "C" and c.deleted_at is null
   left join checkout.test_clocks t on t.account_id = $1 and t.test_mode = $2 and t.id = c.test_clock_id
     and t.deleted_at is null
   left join checkout.payment_methods p on p.account_id = $1 and p.test_mode = $2 and p.id = wanted.payment_method_id collate "C"
     and p.detached_at is null
   left join checkout.session_keys k on k.account_id = $1 and k.test_mode = $2 and k.key = wanted.key collate "C"
   left join checkout.sessions s on s.account_id = $1 and s.test_mode = $2 and s.id = k.session_id
   order by wanted.place`,
);
