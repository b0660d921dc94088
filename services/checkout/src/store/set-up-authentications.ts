import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type ProcessorAccount, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { CardSlot } from '../domain/card-kind.ts';

/** What the shopper of a page gave, to go on with once the bank has its answer. Names and addresses are on the session. */
export interface GivenToSetUp {
  readonly paymentMethodIds: readonly string[];
  /** In the order of the cards; null where nobody said. */
  readonly slots: readonly (CardSlot | null)[];
  readonly refusesHealthCards: boolean;
  readonly acceptsPart: boolean;
  /** The amounts that the page showed; absent where none did, and in rows of earlier releases. */
  readonly shownSplit?: string;
}

/** A set-up that waits, or waited, for its shopper. */
export interface AskedSetUp {
  readonly id: string;
  readonly isSetUp: boolean;
  readonly paymentMethodId: string;
  readonly processorSetupIntentId: string;
  readonly processorAccount: ProcessorAccount | null;
  readonly given: GivenToSetUp;
}

/** Notes that the bank asks the shopper of a page about this card, unless the set-up is of another card by now. */
export async function noteAskedSetUp(
  tx: Tx,
  scope: Scope,
  asked: {
    readonly id: string;
    readonly paymentMethodId: string;
    readonly processorSetupIntentId: string;
    readonly at: Date;
    readonly given: GivenToSetUp;
  },
): Promise<void> {
  const { id, paymentMethodId, processorSetupIntentId, at, given } = asked;
  await tx.execute(note, scope, [id, paymentMethodId, processorSetupIntentId, at, JSON.stringify(given)]);
}

/** The set-up of a session that waits for its shopper, or whose answer is still to be dealt with: that of the first card, or of the other one. */
export async function findAskedSetUp(
  db: Db,
  scope: Scope,
  setupIntentId: string | null,
): Promise<AskedSetUp | undefined> {
  if (setupIntentId === null) return undefined;
  const row = await db.row(select, scope, [setupIntentId]);
  return (
    row && {
      id: row.id,
      isSetUp: row.status === 'succeeded',
      paymentMethodId: row.payment_method_id,
      processorSetupIntentId: row.processor_setup_intent_id,
      processorAccount: processorAccountOfRow(row),
      given: row.asked_of,
    }
  );
}

/** The question is answered and dealt with; one that was asked since stays. */
export async function forgetAskedSetUp(
  tx: Tx,
  scope: Scope,
  { id, processorSetupIntentId }: AskedSetUp,
): Promise<void> {
  await tx.execute(forget, scope, [id, processorSetupIntentId]);
}

const note = scoped<never>(
  'set_up_authentications.note',
  `update checkout.setup_intents set processor_setup_intent_id = $5, asked_at = $6, asked_of = $7
   where account_id = $1 and test_mode = $2 and id = $3 and payment_method_id = $4 and status = 'processing'`,
);

interface AskedRow extends ProcessorAccountRow {
  readonly id: string;
  readonly status: string;
  readonly payment_method_id: string;
  readonly processor_setup_intent_id: string;
  readonly asked_of: GivenToSetUp;
}

const columns = 'id, status, payment_method_id, processor_setup_intent_id, processor, processor_account, asked_of';
// One that still waits goes before one that is set up.
const select = scoped<AskedRow>(
  'set_up_authentications.find',
  `select ${columns} from (
     select ${columns} from checkout.setup_intents i
     where i.account_id = $1 and i.test_mode = $2 and i.id = $3 and i.asked_at is not null
     union all
     select ${columns} from checkout.setup_intents i
     where i.account_id = $1 and i.test_mode = $2 and i.backup_of = $3 and i.asked_at is not null
   ) asked order by status limit 1`,
);

const forget = scoped<never>(
  'set_up_authentications.forget',
  `update checkout.setup_intents set processor_setup_intent_id = null, asked_at = null, asked_of = null
   where account_id = $1 and test_mode = $2 and id = $3 and processor_setup_intent_id = $4`,
);
