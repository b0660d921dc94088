import type { Scope } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { recordHealthCardStatement } from '../src/actions/record-health-card-statement.ts';
import type { InvoiceCharge } from '../src/domain/invoice-charge.ts';
import { findStatement } from '../src/store/health-card-statements.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
let live: Scope;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
beforeEach(() => {
  live = { accountId: newId('account'), testMode: false };
});

const told = (version: bigint, substantiation: string | null) =>
  recordHealthCardStatement(fixture.context, live, { substantiation, version });
const ask = (charge: InvoiceCharge) => chargeInvoice(fixture.context, live, charge);
const attempts = () =>
  fixture.test.admin('select id from checkout.charge_attempts where account_id = $1', [live.accountId]);

// The page makes live cards. Here one is made at the processor and written as it is stored.
async function newCharge(leg: InvoiceCharge['leg'] = 'health'): Promise<InvoiceCharge> {
  const { customerId } = await createCustomer(fixture.context, live, {
    ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null },
    ...{ metadata: {}, testClockId: null },
  });
  const port = fixture.context.processors.of(live);
  const made = await port.createPaymentMethod({ token: 'tok_hsa' }, { idempotencyKey: newId('request') });
  if (made.kind !== 'found') throw new Error(made.kind);
  const paymentMethodId = newId('payment_method');
  await fixture.test.admin(
    `insert into checkout.payment_methods (account_id, test_mode, id, customer_id, processor_payment_method_id, off_session, brand, country,
       exp_month, exp_year, funding, last4, hsa_fsa, created_at)
     values ($1, false, $2, $3, $4, true, 'visa', 'US', 12, 2040, 'debit', '0072', $5, now())`,
    [live.accountId, paymentMethodId, customerId, made.paymentMethodId, leg === 'health'],
  );
  return {
    operationId: newId('charge_attempt'),
    invoiceId: newId('invoice'),
    subscriptionId: newId('subscription'),
    ...{ customerId, paymentMethodId, amountCents: cents(2_500), leg, at: new Date() },
  };
}

it('charges no health card at a renewal once the statement is withdrawn, and charges the next try once it is given back [D14.233]', async () => {
  await told(1n, 'iias');
  expect(await ask(await newCharge())).toMatchObject({ outcome: 'succeeded' });
  await told(2n, null);
  const charge = await newCharge();
  // The next call to the processor is turned away. It is still to come after the refusals.
  await fixture.fault({ call: 'payment_intents.create', kind: 'rate_limited', delay_ms: 7_000, times: 1 });
  for (const _ of [1, 2]) await expect(ask(charge)).rejects.toMatchObject({ code: 'health_cards_not_enabled' });
  expect(await attempts()).toHaveLength(1);
  await told(3n, 'medical_mcc');
  const next = { ...charge, operationId: newId('charge_attempt') };
  expect(await ask(next)).toMatchObject({ outcome: 'unknown', retryAfterMs: 7_000 });
  expect(await ask(next)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
});

it('charges a card that is no health card without a statement [D14.233]', async () => {
  await told(1n, null);
  expect(await ask(await newCharge('other'))).toMatchObject({ outcome: 'succeeded' });
});

it('waits while the gateway has told nothing of the account, and counts no try [D14.233]', async () => {
  const charge = await newCharge();
  expect(await ask(charge)).toMatchObject({ outcome: 'unknown', intent: undefined });
  expect(await attempts()).toEqual([]);
  await told(1n, 'iias');
  expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
});

it('never replaces a statement by an older one, and the table refuses it too [D14.233]', async () => {
  await told(5n, null);
  await told(4n, 'iias');
  await told(5n, 'iias');
  expect(await findStatement(fixture.database, live)).toEqual({ substantiation: null, version: 5n });
  const put = (columns: string) =>
    fixture.test.admin(`update checkout.health_card_statements set ${columns} where account_id = $1`, [live.accountId]);
  await expect(put("version = 4, substantiation = 'iias'")).rejects.toMatchObject({
    constraint: 'health_card_statements_ascend',
  });
  await expect(put('version = 6, test_mode = true')).rejects.toMatchObject({
    constraint: 'health_card_statements_of_live_mode',
  });
});

it('writes no attempt on a health card against the statement, also past the code [D14.233]', async () => {
  await told(1n, 'iias');
  const { operationId } = await newCharge().then(async (charge) => {
    await ask(charge);
    return charge;
  });
  const again = () =>
    fixture.test.admin(
      `insert into checkout.charge_attempts
       select (jsonb_populate_record(a, jsonb_build_object('id', $2::text, 'operation_id', $2::text, 'subject_id', 'fin_other'))).*
       from checkout.charge_attempts a where id = $1`,
      [operationId, newId('charge_attempt')],
    );
  await told(2n, null);
  await expect(again()).rejects.toMatchObject({ constraint: 'invoices_charge_enabled_health_cards' });
});
