import { type Db, type Page, readPage, type Scope, scoped, sqlBuilder, type Tx } from '@eligo/postgres';
import { type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { HsaFsa, KindSource } from '../domain/card-kind.ts';
import type { BillingDetails, CardAgreement, PaymentMethod } from '../domain/payment-method.ts';

export async function findPaymentMethod(db: Db, scope: Scope, id: string): Promise<PaymentMethod | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && paymentMethodOfRow(row);
}

/** The payment method, locked until the transaction ends, or undefined. */
export async function lockPaymentMethod(tx: Tx, scope: Scope, id: string): Promise<PaymentMethod | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
  return row && paymentMethodOfRow(row);
}

/** What is known of a payment method of the processor, or undefined. */
export async function findByProcessorId(db: Db, scope: Scope, id: string): Promise<PaymentMethod | undefined> {
  const row = await db.row(selectByProcessorId, scope, [id]);
  return row && paymentMethodOfRow(row);
}

/** Has a customer's card kept for charges without them. False for one that was detached, or is another customer's. */
export async function keepOffSession(
  tx: Tx,
  scope: Scope,
  id: string,
  owner: { readonly customerId: string; readonly processorCustomerId: string | undefined },
): Promise<boolean> {
  return (await tx.execute(updateOffSession, scope, [id, owner.customerId, owner.processorCustomerId ?? null])) === 1;
}

/** Those of the ids that are payment methods, in no order. */
export async function findPaymentMethods(db: Db, scope: Scope, ids: readonly string[]): Promise<PaymentMethod[]> {
  return (await db.rows(selectMany, scope, [ids])).map(paymentMethodOfRow);
}

/** A page of a customer's payment methods, newest first. */
export async function listPaymentMethods(
  db: Db,
  scope: Scope,
  page: Page,
  customerId: string,
): Promise<{ paymentMethods: PaymentMethod[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<PaymentMethodRow>(
    db,
    scope,
    {
      table: 'checkout.payment_methods',
      id: 'id',
      columns: [sqlBuilder.raw(columns)],
      filter: (query) => {
        query.where('customer_id', customerId);
      },
    },
    page,
  );
  return { paymentMethods: rows.map(paymentMethodOfRow), hasMore };
}

export async function insertPaymentMethod(tx: Tx, scope: Scope, method: PaymentMethod): Promise<void> {
  const { card } = method;
  await tx.execute(insert, scope, [
    method.id,
    method.customerId,
    method.processorPaymentMethodId,
    method.processorCustomerId,
    method.offSession,
    card.brand,
    card.country,
    card.expMonth,
    card.expYear,
    card.funding,
    card.last4,
    card.hsaFsa,
    card.hsaFsaSource,
    method.billingDetails,
    method.metadata,
    method.createdAt,
    method.processorAccount?.processor,
    method.processorAccount?.account,
  ]);
}

/** Gives the payment method to a customer, or takes it away for good. */
export async function savePaymentMethodOwner(
  tx: Tx,
  scope: Scope,
  method: PaymentMethod,
  owner: Pick<PaymentMethod, 'customerId' | 'processorCustomerId' | 'detachedAt'>,
): Promise<PaymentMethod> {
  const written = await tx.execute(updateOwner, scope, [
    method.id,
    method.version,
    owner.customerId,
    owner.processorCustomerId,
    owner.detachedAt,
  ]);
  if (written !== 1) throw new Error('A payment method changed after it was read');
  return { ...method, ...owner, version: method.version + 1n };
}

/** Records what a source said of a card. The caller has locked the method and has checked that the source may say so. */
export async function saveCardKind(
  tx: Tx,
  scope: Scope,
  method: PaymentMethod,
  kind: HsaFsa & { readonly hsaFsa: boolean },
): Promise<PaymentMethod> {
  await tx.execute(updateKind, scope, [method.id, kind.hsaFsa, kind.hsaFsaSource]);
  return { ...method, card: { ...method.card, ...kind }, version: method.version + 1n };
}

/** Records the slots into which a shopper put cards of which nothing is known otherwise. */
export async function noteShopperKinds(
  tx: Tx,
  scope: Scope,
  isHealthCard: ReadonlyMap<string, boolean>,
): Promise<void> {
  await tx.execute(noteKinds, scope, [[...isHealthCard.keys()], [...isHealthCard.values()]]);
}

/** What a confirmation token has become by a payment or a set-up. */
export interface ConfirmedMethod {
  readonly paymentMethodId: string;
  readonly token: string;
  readonly processorPaymentMethodId: string;
  /** Who keeps the card, where the processor was given a customer to attach it to. */
  readonly customerId: string | null;
  readonly agreement?: CardAgreement | undefined;
}

/** Records the payment method that a token has become. A second record of the same changes nothing. */
export async function recordConfirmedMethod(tx: Tx, scope: Scope, made: ConfirmedMethod): Promise<void> {
  const { paymentMethodId, token, processorPaymentMethodId, customerId, agreement } = made;
  await tx.execute(recordConfirmed, scope, [
    ...[paymentMethodId, token, processorPaymentMethodId, customerId],
    ...[agreement?.mandateId ?? null, agreement?.networkTransactionId ?? null],
  ]);
}

/** Records what later charges of a card that was set up refer to. */
export async function recordAgreement(tx: Tx, scope: Scope, id: string, agreement: CardAgreement): Promise<void> {
  const { mandateId = null, networkTransactionId = null } = agreement;
  await tx.execute(saveAgreement, scope, [id, mandateId, networkTransactionId]);
}

interface PaymentMethodRow extends ProcessorAccountRow {
  readonly id: string;
  readonly customer_id: string | null;
  readonly processor_payment_method_id: string;
  readonly processor_customer_id: string | null;
  readonly off_session: boolean;
  readonly brand: string;
  readonly country: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly funding: string;
  readonly last4: string;
  readonly hsa_fsa: boolean | null;
  readonly hsa_fsa_source: KindSource | null;
  readonly billing_details: BillingDetails;
  readonly metadata: Record<string, string>;
  readonly created_at: Date;
  readonly detached_at: Date | null;
  readonly version: bigint;
}

const columns = `id, customer_id, processor, processor_account, processor_payment_method_id, processor_customer_id, off_session, brand, country, exp_month,
  exp_year, funding, last4, hsa_fsa, hsa_fsa_source, billing_details, metadata, created_at, detached_at, version`;

function paymentMethodOfRow(row: PaymentMethodRow): PaymentMethod {
  return {
    id: row.id,
    customerId: row.customer_id,
    processorAccount: processorAccountOfRow(row),
    processorPaymentMethodId: row.processor_payment_method_id,
    processorCustomerId: row.processor_customer_id,
    offSession: row.off_session,
    card: {
      brand: row.brand,
      country: row.country,
      expMonth: row.exp_month,
      expYear: row.exp_year,
      funding: row.funding,
      last4: row.last4,
      ...hsaFsaOfRow(row),
    },
    billingDetails: row.billing_details,
    metadata: row.metadata,
    createdAt: row.created_at,
    detachedAt: row.detached_at,
    version: row.version,
  };
}

function hsaFsaOfRow({ hsa_fsa: hsaFsa, hsa_fsa_source: source }: PaymentMethodRow): HsaFsa {
  // Before there were other sources, the processor was the only one, and none was stored.
  return hsaFsa === null ? { hsaFsa, hsaFsaSource: null } : { hsaFsa, hsaFsaSource: source ?? 'processor' };
}

const selectOne = scoped<PaymentMethodRow>(
  'payment_methods.find',
  `select ${columns} from checkout.payment_methods where account_id = $1 and test_mode = $2 and id = $3`,
);

const selectForUpdate = scoped<PaymentMethodRow>(
  'payment_methods.lock',
  `select ${columns} from checkout.payment_methods where account_id = $1 and test_mode = $2 and id = $3 for update`,
);

const selectByProcessorId = scoped<PaymentMethodRow>(
  'payment_methods.find_by_processor_id',
  `select ${columns} from checkout.payment_methods where account_id = $1 and test_mode = $2 and processor_payment_method_id = $3`,
);

const updateOffSession = scoped<never>(
  'payment_methods.keep_off_session',
  `update checkout.payment_methods set off_session = true, customer_id = $4, processor_customer_id = coalesce($5, processor_customer_id),
     version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and detached_at is null and (customer_id is null or customer_id = $4)`,
);

const selectMany = scoped<PaymentMethodRow>(
  'payment_methods.find_many',
  `select ${columns} from checkout.payment_methods where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);

const insert = scoped<never>(
  'payment_methods.insert',
  `insert into checkout.payment_methods
     (account_id, test_mode, id, customer_id, processor_payment_method_id, processor_customer_id, off_session, brand, country,
      exp_month, exp_year, funding, last4, hsa_fsa, hsa_fsa_source, billing_details, metadata, created_at,
      processor, processor_account)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
);

const updateOwner = scoped<never>(
  'payment_methods.save_owner',
  `update checkout.payment_methods set customer_id = $5, processor_customer_id = $6, detached_at = $7, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4`,
);

const recordConfirmed = scoped<never>(
  'payment_methods.record_confirmed',
  `update checkout.payment_methods set processor_payment_method_id = $5, version = version + 1,
     customer_id = case when processor_customer_id is null then customer_id else $6 end,
     mandate_id = coalesce($7, mandate_id), network_transaction_id = coalesce($8, network_transaction_id)
   where account_id = $1 and test_mode = $2 and id = $3 and processor_payment_method_id = $4`,
);

const saveAgreement = scoped<never>(
  'payment_methods.save_agreement',
  `update checkout.payment_methods
   set mandate_id = coalesce($4, mandate_id), network_transaction_id = coalesce($5, network_transaction_id), version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3`,
);

const updateKind = scoped<never>(
  'payment_methods.save_kind',
  `update checkout.payment_methods set hsa_fsa = $4, hsa_fsa_source = $5, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3`,
);

const noteKinds = scoped<never>(
  'payment_methods.note_shopper_kinds',
  `update checkout.payment_methods m set hsa_fsa = k.hsa_fsa, hsa_fsa_source = 'shopper', version = version + 1
   from unnest($3::text[], $4::boolean[]) as k (id, hsa_fsa)
   where m.account_id = $1 and m.test_mode = $2 and m.id = k.id and m.hsa_fsa is null`,
);
