import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attemptStates } from '../src/domain/charge-attempt.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { type Columns, change, checksOf, insertAgain } from './guarded-rows.ts';

// What the tables of money refuse by themselves, whatever the code does: written as the superuser, one constraint at a time.
let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

async function intent(): Promise<string> {
  const id = `fpi_${randomUUID()}`;
  await fixture.test.admin(
    `insert into checkout.payment_intents (account_id, test_mode, id, invoice_id, leg, capture_method, status, amount_cents, created_at)
     values ($1, true, $2, 'fin_x', 'health', 'manual', 'processing', 1000, now())`,
    [fixture.scope.accountId, id],
  );
  return id;
}

// An attempt for an invoice of its own, unless told otherwise.
async function attempt(
  of: { invoice?: string; leg?: string; card?: string; record?: string | null; processorIntent?: string } = {},
): Promise<string> {
  const id = await intent();
  const { invoice = `fin_${id}`, leg = 'health', card = 'fpm_x', record = null, processorIntent = `pi_${id}` } = of;
  await fixture.test.admin(
    `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id,
       processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, acting_at, eligibility_record_id,
       processor_intent_id)
     values ($1, true, $2, 'invoice', $3, $4, 'invoice', $2, $7, 'pm_x', true, 'manual', 1000, 'created', now(), now(), $5, $6)`,
    [fixture.scope.accountId, id, invoice, leg, record, processorIntent, card],
  );
  return id;
}

const comeTooLate = (id: string) =>
  fixture.test.admin(
    "update checkout.charge_attempts set confirm_until = now() - interval '1 s', failure_code = 'canceled_late' where id = $1",
    [id],
  );

describe('the states of an attempt', () => {
  for (const from of attemptStates.states) {
    for (const to of attemptStates.states.filter((state) => state !== from)) {
      const allowed = attemptStates.canMove(from, to);
      test(`${from} to ${to} is ${allowed ? 'allowed' : 'refused'} by table and trigger alike`, async () => {
        const id = await attempt();
        const put = (status: string) =>
          fixture.test.admin('update checkout.charge_attempts set status = $2 where id = $1', [id, status]);
        await fixture.test.admin('alter table checkout.charge_attempts disable trigger guard_charge_attempt');
        await put(from);
        await fixture.test.admin('alter table checkout.charge_attempts enable trigger guard_charge_attempt');
        // What was sent is abandoned only late, and with the code that says so.
        if (to === 'abandoned') await comeTooLate(id);
        if (allowed) await put(to);
        else await expect(put(to)).rejects.toMatchObject({ code: '23514' });
      });
    }
  }
});

describe('the time in which an attempt may be confirmed', () => {
  const sent = async () => {
    const id = await attempt();
    await fixture.test.admin("update checkout.charge_attempts set status = 'sending' where id = $1", [id]);
    return id;
  };
  const abandon = (id: string, code: string | null) =>
    fixture.test.admin("update checkout.charge_attempts set status = 'abandoned', failure_code = $2 where id = $1", [
      id,
      code,
    ]);

  test('what was sent is not abandoned while it may be confirmed, nor without a code', async () => {
    const id = await sent();
    await expect(abandon(id, 'canceled_late')).rejects.toMatchObject({ code: '23514' });
    await fixture.test.admin(
      "update checkout.charge_attempts set confirm_until = now() - interval '1 s' where id = $1",
      [id],
    );
    await expect(abandon(id, null)).rejects.toMatchObject({ code: '23514' });
    await abandon(id, 'canceled_late');
  });

  test.each([
    ['its time is over', "confirm_until = now() - interval '1 s'"],
    ['it was begun twenty minutes ago, whatever its time', "created_at = now() - interval '20 minutes'"],
  ])('nothing is sent once %s', async (_what, change) => {
    const id = await attempt();
    await fixture.test.admin(`update checkout.charge_attempts set ${change} where id = $1`, [id]);
    await expect(
      fixture.test.admin("update checkout.charge_attempts set status = 'sending' where id = $1", [id]),
    ).rejects.toMatchObject({ constraint: 'confirmed_in_time' });
  });

  test('it never grows', async () => {
    await expect(
      fixture.test.admin(
        "update checkout.charge_attempts set confirm_until = confirm_until + interval '1 s' where id = $1",
        [await sent()],
      ),
    ).rejects.toMatchObject({ constraint: 'confirm_until_only_shrinks' });
  });
});

describe('money moves once', () => {
  test('one live attempt for each leg of what is charged, and another once it was given up', async () => {
    const first = await attempt({ invoice: 'fin_once' });
    await expect(attempt({ invoice: 'fin_once' })).rejects.toMatchObject({ constraint: 'charge_attempts_one_live' });
    const { id: card } = await fixture.card('credit');
    await attempt({ invoice: 'fin_once', leg: 'other', card });
    await fixture.test.admin("update checkout.charge_attempts set status = 'abandoned' where id = $1", [first]);
    await attempt({ invoice: 'fin_once' });
  });

  test('one live attempt for each eligibility record, on whatever leg of whatever is charged', async () => {
    const { id: card } = await fixture.card('credit');
    await attempt({ record: 'fsplit_once' });
    await expect(attempt({ record: 'fsplit_once', leg: 'other', card })).rejects.toMatchObject({
      constraint: 'charge_attempts_one_per_eligibility_record',
    });
  });

  test('one attempt for each intent at the processor', async () => {
    await attempt({ processorIntent: 'pi_once' });
    await expect(attempt({ processorIntent: 'pi_once' })).rejects.toMatchObject({
      constraint: 'charge_attempts_by_processor_intent',
    });
  });

  test('one charge here for each charge at the processor, but for those that failed', async () => {
    const charge = async (status: string) =>
      fixture.test.admin(
        `insert into checkout.charges (account_id, test_mode, id, payment_intent_id, status, amount_cents, processor_charge_id, created_at)
         values ($1, true, $2, $3, $4, 1000, 'ch_once', now())`,
        [fixture.scope.accountId, `fch_${randomUUID()}`, await intent(), status],
      );
    await charge('failed');
    await charge('succeeded');
    await expect(charge('succeeded')).rejects.toMatchObject({ constraint: 'charges_by_processor' });
  });

  test('a hold is captured or voided, and never both', async () => {
    const id = await intent();
    const decide = (kind: string, status: string) =>
      fixture.test.admin(
        `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
           amount_cents, status, acting_at)
         values ($1, true, $2, $3, 'fatt_x', 'pi_x', $4, 1000, $5, now())`,
        [fixture.scope.accountId, randomUUID(), id, kind, status],
      );
    await decide('capture', 'failed');
    await decide('capture', 'done');
    await expect(decide('cancel', 'pending')).rejects.toMatchObject({ constraint: 'intent_operations_one_end' });
  });

  test('a movement is booked once for its cause, and is neither changed nor removed by the service', async () => {
    const book = (source: string) =>
      fixture.test.admin(
        `insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
           payment_intent_id, source_id, created_at)
         values ($1, true, $2, 'processor_balance', 'customer_receipts', 1000, 'capture', 'fpi_x', $3, now())`,
        [fixture.scope.accountId, randomUUID(), source],
      );
    await book('fch_once');
    await expect(book('fch_once')).rejects.toMatchObject({ constraint: 'ledger_entries_once' });
    await book('fch_other');
    for (const change of ['update', 'delete']) {
      const [may] = await fixture.test.admin<{ allowed: boolean }>(
        "select has_table_privilege('eligo_checkout', 'checkout.ledger_entries', $1) as allowed",
        [change],
      );
      expect(may?.allowed).toBe(false);
    }
  });
});

describe('a payment intent', () => {
  test.each([
    ['more captured than it was for', 'amount_received_cents = 1001', 'payment_intents_received_within_amount'],
    ['more held than it was for', 'amount_capturable_cents = 1001', 'payment_intents_received_within_amount'],
    ['more given back than it received', 'amount_refunded_cents = 1', 'payment_intents_refunded_within_received'],
    ['received without having succeeded', 'amount_received_cents = 1', 'payment_intents_received_when_succeeded'],
  ])('is refused with %s', async (_what, change, constraint) => {
    const id = await intent();
    // So that no other constraint refuses it.
    const status = change === 'amount_received_cents = 1001' ? ", status = 'succeeded'" : '';
    await expect(
      fixture.test.admin(`update checkout.payment_intents set ${change}${status} where id = $1`, [id]),
    ).rejects.toMatchObject({ constraint });
  });
});

describe('a session’s components', () => {
  test.each(['tax', 'shipping', 'discount'])('no more %s is given back than was captured', async (name) => {
    const { id } = await fixture.session();
    const given = fixture.test.admin(`update checkout.sessions set refunded_${name}_cents = 1 where id = $1`, [id]);
    await expect(given).rejects.toMatchObject({ constraint: `sessions_refunded_${name}` });
  });
});

describe('the guards refuse what no check constraint holds any more', () => {
  // One attempt, its intent and a charge of 10.00 serve all of them, since nothing is stored.
  const ids = { payment_intents: '', charges: '', charge_attempts: '' };
  beforeAll(async () => {
    ids.charge_attempts = await attempt();
    ids.payment_intents = ids.charge_attempts;
    ids.charges = `fch_${randomUUID()}`;
    await fixture.test.admin(
      `insert into checkout.charges (account_id, test_mode, id, payment_intent_id, status, amount_cents, created_at)
       values ($1, true, $2, $3, 'succeeded', 1000, now())`,
      [fixture.scope.accountId, ids.charges, ids.payment_intents],
    );
  });

  const succeeded = { status: 'succeeded', amount_received_cents: 1_000 };
  const checks: [string, keyof typeof ids, Columns][] = [
    ['payment_intents_leg_check', 'payment_intents', { leg: 'left' }],
    ['payment_intents_capture_method_check', 'payment_intents', { capture_method: 'later' }],
    ['payment_intents_status_check', 'payment_intents', { status: 'lost' }],
    ['payment_intents_amount_capturable_cents_check', 'payment_intents', { amount_capturable_cents: -1 }],
    ['payment_intents_amount_received_cents_check', 'payment_intents', { amount_received_cents: -1 }],
    ['payment_intents_amount_refunded_cents_check', 'payment_intents', { amount_refunded_cents: -1 }],
    ['payment_intents_has_subject', 'payment_intents', { session_id: null, invoice_id: null }],
    ['payment_intents_received_within_amount', 'payment_intents', { ...succeeded, amount_received_cents: 1_001 }],
    ['payment_intents_received_within_amount', 'payment_intents', { ...succeeded, amount_capturable_cents: 1 }],
    ['payment_intents_refunded_within_received', 'payment_intents', { ...succeeded, amount_refunded_cents: 1_001 }],
    ['payment_intents_received_when_succeeded', 'payment_intents', { amount_received_cents: 1 }],
    ['payment_intents_received_when_succeeded', 'payment_intents', { ...succeeded, amount_received_cents: 0 }],
    ['charges_status_check', 'charges', { status: 'lost' }],
    ['charges_amount_cents_check', 'charges', { amount_cents: 0 }],
    ['charges_amount_captured_cents_check', 'charges', { amount_captured_cents: -1 }],
    ['charges_amount_refunded_cents_check', 'charges', { amount_refunded_cents: -1 }],
    ['charges_captured_within_amount', 'charges', { amount_captured_cents: 1_001 }],
    ['charges_refunded_within_captured', 'charges', { amount_refunded_cents: 1 }],
    ['charge_attempts_leg_check', 'charge_attempts', { leg: 'left' }],
    ['charge_attempts_driver_check', 'charge_attempts', { driver: 'mail' }],
    ['charge_attempts_capture_method_check', 'charge_attempts', { capture_method: 'later' }],
    ['charge_attempts_iias_cents_check', 'charge_attempts', { iias_cents: -1 }],
    ['charge_attempts_prescription_cents_check', 'charge_attempts', { prescription_cents: -1 }],
    ['charge_attempts_vision_cents_check', 'charge_attempts', { vision_cents: -1 }],
    ['charge_attempts_service_cents_check', 'charge_attempts', { service_cents: -1 }],
    ['charge_attempts_sent_has_intent', 'charge_attempts', { status: 'sending', processor_intent_id: null }],
    ['charge_attempts_healthcare_within_amount', 'charge_attempts', { iias_cents: 600, service_cents: 401 }],
  ];
  // Other rules refuse these changes before the checks do.
  const made: typeof checks = [
    ['charge_attempts_status_check', 'charge_attempts', { status: 'lost' }],
    ['charge_attempts_purpose_check', 'charge_attempts', { purpose: 'gift' }],
    ['charge_attempts_purpose_check', 'charge_attempts', { purpose: 'renewed' }],
    ['payment_intents_amount_cents_check', 'payment_intents', { amount_cents: 49 }],
    ['payment_intents_amount_cents_check', 'payment_intents', { amount_cents: '9007199254740992' }],
    ['charge_attempts_amount_cents_check', 'charge_attempts', { amount_cents: 49 }],
    ['charge_attempts_amount_cents_check', 'charge_attempts', { amount_cents: '9007199254740992' }],
  ];

  test.each([...checks, ...made])('%s in %s, for a new row with %j', async (constraint, table, columns) => {
    const written = insertAgain(fixture.test, table, ids[table], columns);
    await expect(written).rejects.toMatchObject({ constraint });
  });

  test.each(checks)('%s in %s, for a row that is changed to %j', async (constraint, table, columns) => {
    await expect(change(fixture.test, table, ids[table], columns)).rejects.toMatchObject({ constraint });
  });

  test.each([
    ['guard_payment_intent', 'payment_intents', 11],
    ['guard_charge', 'charges', 6],
    ['guard_charge_attempt', 'charge_attempts', 12],
  ] as const)('and these are all checks of %s', async (guard, table, count) => {
    const shown = new Set([...checks, ...made].flatMap(([name, of]) => (of === table ? [name] : [])));
    expect(await checksOf(fixture.test, guard)).toEqual([...shown].sort());
    expect(shown.size).toBe(count);
  });
});
