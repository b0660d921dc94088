import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paymentIntentStates } from '../src/domain/payment-intent.ts';
import { sessionStates } from '../src/domain/session-states.ts';
import { type Fixture, line, openFixture } from './fixture.ts';
import { type Columns, change, checksOf, insertAgain } from './guarded-rows.ts';

// What the database itself refuses, whatever the code does: written as its superuser, whom neither the code nor row-level security stops.
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

describe('the state table', () => {
  for (const from of sessionStates.states) {
    for (const to of sessionStates.states.filter((state) => state !== from)) {
      test(`${from} to ${to} is ${sessionStates.canMove(from, to) ? 'allowed' : 'refused'} by code and trigger alike [STATE-1]`, async () => {
        const { id } = await fixture.session();
        await fixture.test.admin('alter table checkout.sessions disable trigger guard_session');
        await fixture.test.admin('update checkout.sessions set status = $2 where id = $1', [id, from]);
        await fixture.test.admin('alter table checkout.sessions enable trigger guard_session');
        const move = fixture.test.admin('update checkout.sessions set status = $2 where id = $1', [id, to]);
        if (sessionStates.canMove(from, to)) await move;
        else await expect(move).rejects.toMatchObject({ constraint: 'session_state_table' });
      });
    }
  }
});

describe('the states of a payment intent', () => {
  let id: string;
  // What goes with each state, so that no other constraint refuses the move.
  const put = (status: string) =>
    fixture.test.admin(
      `update checkout.payment_intents set status = $2, amount_received_cents = case when $2 = 'succeeded' then 1000 else 0 end
       where id = $1`,
      [id, status],
    );
  beforeAll(async () => {
    const session = await fixture.session();
    id = `fpi_${session.id.slice(4)}`;
    await fixture.test.admin(
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
       values ($1, true, $2, $3, 'health', 'automatic', 'processing', 1000, now())`,
      [fixture.scope.accountId, id, session.id],
    );
  });

  for (const from of paymentIntentStates.states) {
    for (const to of paymentIntentStates.states.filter((state) => state !== from)) {
      const allowed = paymentIntentStates.canMove(from, to);
      test(`${from} to ${to} is ${allowed ? 'allowed' : 'refused'} by table and trigger alike`, async () => {
        await fixture.test.admin('alter table checkout.payment_intents disable trigger guard_payment_intent');
        await put(from);
        await fixture.test.admin('alter table checkout.payment_intents enable trigger guard_payment_intent');
        if (allowed) await put(to);
        else await expect(put(to)).rejects.toMatchObject({ constraint: 'payment_intent_state_table' });
      });
    }
  }
});

describe('what is charged for a session', () => {
  beforeAll(() =>
    fixture.test.admin(
      `insert into checkout.payment_methods (account_id, test_mode, id, processor_payment_method_id, off_session, brand, country, exp_month,
         exp_year, funding, last4, hsa_fsa, created_at)
       values ($1, true, 'fpm_x', 'pm_x', true, 'visa', 'US', 1, 2040, 'credit', '4242', false, now())`,
      [fixture.scope.accountId],
    ),
  );
  const attempt = async (sessionId: string, leg: string, amount: number) => {
    const id = `${leg}_${randomUUID()}`;
    await fixture.test.admin(
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
       values ($1, true, $2, $3, $4, 'automatic', 'processing', $5, now())`,
      [fixture.scope.accountId, id, sessionId, leg, amount],
    );
    await fixture.test.admin(
      `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id,
         payment_method_id, processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, acting_at)
       values ($1, true, $2, 'session', $3, $4, 'page', $2, 'fpm_x', 'pm_x', true, 'automatic', $5, 'created', now(), now())`,
      [fixture.scope.accountId, id, sessionId, leg, amount],
    );
  };
  const mixed = () =>
    fixture.session({ lines: [line({ unitAmount: 1_000, class: 'vision' }), line({ unitAmount: 600 })] });

  test('is never more than it comes to, on both of its legs together', async () => {
    const { id } = await mixed();
    await attempt(id, 'health', 1_000);
    await expect(attempt(id, 'other', 601)).rejects.toMatchObject({ constraint: 'charges_within_session' });
    await attempt(id, 'other', 600);
  });

  test('is never more than its eligible part on a health card', async () => {
    const { id } = await mixed();
    await expect(attempt(id, 'health', 1_001)).rejects.toMatchObject({ constraint: 'charges_within_session' });
  });

  test('counts what was given up no more', async () => {
    const { id } = await mixed();
    await attempt(id, 'other', 1_600);
    await expect(attempt(id, 'health', 1_000)).rejects.toMatchObject({ constraint: 'charges_within_session' });
    await fixture.test.admin("update checkout.charge_attempts set status = 'abandoned' where subject_id = $1", [id]);
    await attempt(id, 'health', 1_000);
  });
});

describe('what has ended', () => {
  test.each([
    ['a plan', 'payment_plans', 'state', ['done', 'failed'], 'running'],
    ['an operation on a hold', 'intent_operations', 'status', ['done', 'failed'], 'pending'],
  ])('%s stays as it is, whatever a statement says', async (_, table, column, ends, before) => {
    const { id: sessionId } = await fixture.session();
    const { accountId } = fixture.scope;
    for (const [index, end] of ends.entries()) {
      const id = `${table}_${index}_${sessionId}`;
      const intent = `fpi_${id}`;
      await fixture.test.admin(
        `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
         values ($1, true, $2, $3, 'health', 'manual', 'processing', 1000, now())`,
        [accountId, intent, sessionId],
      );
      if (table === 'payment_plans') {
        await fixture.test.admin(
          `insert into checkout.payment_plans (account_id, test_mode, session_id, id, state, lease_until, acting_at)
           values ($1, true, $2, $3, $4, now(), now())`,
          [accountId, sessionId, id, before],
        );
      } else {
        await fixture.test.admin(
          `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
             amount_cents, status, acting_at)
           values ($1, true, $2, $3, 'fatt_x', 'pi_x', 'capture', 1000, $4, now())`,
          [accountId, id, intent, before],
        );
      }
      const put = (state: string) =>
        fixture.test.admin(`update checkout.${table} set ${column} = $2 where id = $1`, [id, state]);
      await put(end);
      for (const other of [before, ...ends.filter((state) => state !== end)]) {
        await expect(put(other)).rejects.toMatchObject({ constraint: 'ended_stays_ended' });
      }
    }
  });
});

describe('money', () => {
  const session = (set: string) => [`update checkout.sessions set ${set} where id = $1`, 'session'] as const;
  const sessionLine = (set: string) =>
    [`update checkout.session_lines set ${set} where session_id = $1 and position = 0`, 'line'] as const;
  const refusals: [string, readonly [string, string], string][] = [
    [
      'more received than the total',
      session('amount_received_cents = amount_total_cents + 1'),
      'received_within_total',
    ],
    ['more refunded than received', session('amount_refunded_cents = 1'), 'refunded_within_received'],
    ['a refund below zero', session('amount_refunded_cents = -1'), 'refunded_within_received'],
    ['more captured of a component than there is', session('captured_tax_cents = 1'), 'sessions_captured_components'],
    ['more received than its cards gave', session('amount_received_cents = 1'), 'session_money_is_its_cards'],
    ['more disputed than received', session('amount_disputed_cents = 1'), 'disputed_within_received'],
    ['another total', session('amount_total_cents = amount_total_cents + 1'), 'session_split_is_final'],
    ['another eligible part', session('amount_eligible_cents = 1'), 'session_split_is_final'],
    ['another mode', session("mode = 'setup'"), 'session_split_is_final'],
    ['another line total', sessionLine('amount_total_cents = 0'), 'session_split_is_final'],
    ['another class', sessionLine("eligibility_class = 'vision'"), 'session_split_is_final'],
    [
      'more captured than a line costs',
      sessionLine('amount_captured_cents = amount_total_cents + 1'),
      'line_captured_within_total',
    ],
    ['more refunded than a line captured', sessionLine('amount_refunded_cents = 1'), 'line_refunded_within_captured'],
  ];
  for (const [what, [text], constraint] of refusals) {
    test(`refuses ${what}`, async () => {
      const { id } = await fixture.session();
      await expect(fixture.test.admin(text, [id])).rejects.toMatchObject({ constraint });
    });
  }

  test('refuses, at commit, a session that has received what no line was paid with', async () => {
    const { id } = await fixture.session();
    const received = fixture.test.admin(
      `with card as (
         insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents,
           amount_received_cents, created_at)
         values ($2, true, 'fpi_guards', $1, 'health', 'automatic', 'succeeded', 1000, 1000, now())
       ), line as (update checkout.session_lines set amount_captured_cents = 999 where session_id = $1)
       update checkout.sessions set amount_received_cents = 1000 where id = $1`,
      [id, fixture.scope.accountId],
    );
    await expect(received).rejects.toMatchObject({ constraint: 'session_money_is_its_lines' });
  });

  test('refuses to delete a session, a line, or an eligibility record', async () => {
    const { id } = await fixture.session();
    for (const text of [
      'delete from checkout.session_lines where session_id = $1',
      'delete from checkout.eligibility_records where session_id = $1',
      'delete from checkout.sessions where id = $1',
    ]) {
      await expect(fixture.test.admin(text, [id])).rejects.toMatchObject({ constraint: 'session_split_is_final' });
    }
  });

  test('refuses a line that is added to a session later', async () => {
    const { id } = await fixture.session();
    await expect(copyLine(id)).rejects.toMatchObject({ constraint: 'session_split_is_final' });
  });

  test('refuses, at commit, a session whose lines do not sum to it [D6.1]', async () => {
    const { id } = await fixture.session({
      lines: [line({ unitAmount: 100, class: 'vision' }), line({ unitAmount: 200 })],
    });
    const columns = await columnsOf('sessions');
    const written = fixture.test.admin(
      `insert into checkout.sessions (${columns})
       select ${columns.replace(/\bid\b/, "'fcs_copy'")} from checkout.sessions where id = $1`,
      [id],
    );
    await expect(written).rejects.toMatchObject({ constraint: 'session_lines_sum_to_session' });
  });

  async function copyLine(sessionId: string): Promise<unknown> {
    const columns = await columnsOf('session_lines');
    const copied = columns.replace(/\bid\b/, "'fli_copy'").replace(/\bposition\b/, '7');
    return fixture.test.admin(
      `insert into checkout.session_lines (${columns}) select ${copied} from checkout.session_lines where session_id = $1`,
      [sessionId],
    );
  }

  async function columnsOf(table: string): Promise<string> {
    const rows = await fixture.test.admin<{ name: string }>(
      `select column_name as name from information_schema.columns
       where table_schema = 'checkout' and table_name = $1 order by ordinal_position`,
      [table],
    );
    return rows.map(({ name }) => name).join(', ');
  }
});

describe('the guards refuse what no check constraint holds any more', () => {
  // One session with one eligible line of 10.00 serves all of them, since nothing is stored.
  const ids = { sessions: '', session_lines: '' };
  beforeAll(async () => {
    ids.sessions = (await fixture.session()).id;
    const [made] = await fixture.test.admin<{ id: string }>(
      'select id from checkout.session_lines where session_id = $1',
      [ids.sessions],
    );
    ids.session_lines = made?.id ?? '';
  });

  // What a session and its lines are made with. Later it is final.
  const made: [string, keyof typeof ids, Columns][] = [
    ['sessions_status_check', 'sessions', { status: 'lost' }],
    ['sessions_mode_check', 'sessions', { mode: 'gift' }],
    ['sessions_amount_subtotal_cents_check', 'sessions', { amount_subtotal_cents: -1 }],
    ['sessions_check', 'sessions', { amount_discount_cents: -1 }],
    ['sessions_check', 'sessions', { amount_discount_cents: 1_001 }],
    ['sessions_amount_tax_cents_check', 'sessions', { amount_tax_cents: -1 }],
    ['sessions_amount_shipping_cents_check', 'sessions', { amount_shipping_cents: -1 }],
    ['sessions_amount_fee_cents_check', 'sessions', { amount_fee_cents: -1 }],
    ['sessions_amount_iias_cents_check', 'sessions', { amount_iias_cents: -1 }],
    ['sessions_amount_prescription_cents_check', 'sessions', { amount_prescription_cents: -1 }],
    ['sessions_amount_vision_cents_check', 'sessions', { amount_vision_cents: -1 }],
    ['sessions_amount_service_cents_check', 'sessions', { amount_service_cents: -1 }],
    ['total_is_the_sum_of_its_parts', 'sessions', { amount_total_cents: 1_001 }],
    ['eligible_within_total', 'sessions', { amount_eligible_cents: -1 }],
    ['eligible_within_total', 'sessions', { amount_eligible_cents: 1_001 }],
    ['buckets_within_eligible', 'sessions', { amount_iias_cents: 500, amount_vision_cents: 501 }],
    ['session_lines_position_check', 'session_lines', { position: -1 }],
    ['session_lines_quantity_check', 'session_lines', { quantity: 0 }],
    ['session_lines_unit_amount_cents_check', 'session_lines', { unit_amount_cents: -1 }],
    ['session_lines_amount_tax_cents_check', 'session_lines', { amount_tax_cents: -1 }],
    ['session_lines_amount_shipping_cents_check', 'session_lines', { amount_shipping_cents: -1 }],
    ['session_lines_amount_fee_cents_check', 'session_lines', { amount_fee_cents: -1 }],
    ['session_lines_recurring_interval_check', 'session_lines', { recurring_interval: 'hour' }],
    ['session_lines_recurring_interval_count_check', 'session_lines', { recurring_interval_count: 0 }],
    ['session_lines_recurring_trial_days_check', 'session_lines', { recurring_trial_days: -1 }],
    ['recurring_is_whole', 'session_lines', { recurring_interval: 'month' }],
    ['recurring_is_whole', 'session_lines', { recurring_interval_count: 1 }],
    ['line_subtotal_is_price_times_quantity', 'session_lines', { quantity: 2 }],
    ['no_line_below_zero', 'session_lines', { amount_discount_cents: -1 }],
    ['no_line_below_zero', 'session_lines', { amount_discount_cents: 1_001 }],
    ['line_total_is_the_sum_of_its_parts', 'session_lines', { amount_total_cents: 999 }],
    ['line_is_eligible_whole_or_not_at_all', 'session_lines', { amount_eligible_cents: 999 }],
    ['eligible_line_has_a_class', 'session_lines', { eligibility_class: null }],
    ['eligible_line_has_a_class', 'session_lines', { eligibility_class: 'not_eligible' }],
  ];
  // What moves while a session lives.
  const moving: typeof made = [
    ['sessions_capture_method_check', 'sessions', { capture_method: 'later' }],
    ['sessions_letter_fee_cents_check', 'sessions', { letter_fee_cents: -1 }],
    ['received_within_total', 'sessions', { amount_received_cents: -1 }],
    ['received_within_total', 'sessions', { amount_received_cents: 1_001 }],
    ['refunded_within_received', 'sessions', { amount_refunded_cents: -1 }],
    ['refunded_within_received', 'sessions', { amount_refunded_cents: 1 }],
    ['disputed_within_received', 'sessions', { amount_disputed_cents: -1 }],
    ['disputed_within_received', 'sessions', { amount_disputed_cents: 1 }],
    ...['tax', 'shipping', 'discount'].flatMap((part): typeof made => [
      ['sessions_captured_components', 'sessions', { [`captured_${part}_cents`]: -1 }],
      ['sessions_captured_components', 'sessions', { [`captured_${part}_cents`]: 1 }],
      [`sessions_refunded_${part}`, 'sessions', { [`refunded_${part}_cents`]: -1 }],
      [`sessions_refunded_${part}`, 'sessions', { [`refunded_${part}_cents`]: 1 }],
    ]),
    ['line_captured_within_total', 'session_lines', { amount_captured_cents: -1 }],
    ['line_captured_within_total', 'session_lines', { amount_captured_cents: 1_001 }],
    ['line_refunded_within_captured', 'session_lines', { amount_refunded_cents: -1 }],
    ['line_refunded_within_captured', 'session_lines', { amount_refunded_cents: 1 }],
  ];

  test.each([...made, ...moving])('%s in %s, for a new row with %j', async (constraint, table, columns) => {
    const written = insertAgain(fixture.test, table, ids[table], columns);
    await expect(written).rejects.toMatchObject({ constraint });
  });

  test.each(moving)('%s in %s, for a row that is changed to %j', async (constraint, table, columns) => {
    await expect(change(fixture.test, table, ids[table], columns)).rejects.toMatchObject({ constraint });
  });

  test.each([
    ['guard_session', 'sessions', 23],
    ['guard_session_line', 'session_lines', 17],
  ] as const)('and these are all checks of %s', async (guard, table, count) => {
    const shown = new Set([...made, ...moving].flatMap(([name, of]) => (of === table ? [name] : [])));
    expect(await checksOf(fixture.test, guard)).toEqual([...shown].sort());
    expect(shown.size).toBe(count);
  });
});

test('every table of checkout that names an account has row-level security, forced', async () => {
  const open = await fixture.test.admin<{ table: string }>(
    `select c.relname as table from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
     where c.relnamespace = 'checkout'::regnamespace and c.relkind = 'r' and not (c.relrowsecurity and c.relforcerowsecurity)
     order by 1`,
  );
  // These are worked on across accounts (architecture, invariant 6).
  expect(open.map(({ table }) => table)).toEqual(['dead_letters', 'operator_actions', 'outbox']);
});

test('a session of another account or mode is not found', async () => {
  const { id } = await fixture.session();
  const { loadSession } = await import('../src/store/sessions.ts');
  expect(await loadSession(fixture.database, { ...fixture.scope, testMode: false }, id)).toBeUndefined();
  expect(await loadSession(fixture.database, { accountId: 'facct_other', testMode: true }, id)).toBeUndefined();
});
