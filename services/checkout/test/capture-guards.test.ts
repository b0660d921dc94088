import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../src/domain/session.ts';
import { type Fixture, line, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

interface Held {
  readonly session: Session;
  readonly intent: string;
  readonly line: string;
}

// 50.00 with 10.00 tax, all of it held on one card.
async function held(): Promise<Held> {
  const session = await fixture.session({
    lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' })],
    taxAmountCents: 1_000n,
  });
  const intent = `fpi_${randomUUID()}`;
  await fixture.test.admin(
    `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents,
       amount_capturable_cents, created_at) values ($1, true, $2, $3, 'health', 'manual', 'requires_capture', 5000, 5000, now())`,
    [fixture.scope.accountId, intent, session.id],
  );
  const [row] = await fixture.test.admin<{ id: string }>(
    'select id from checkout.session_lines where session_id = $1',
    [session.id],
  );
  return { session, intent, line: row?.id ?? '' };
}

interface Parts {
  readonly amount?: number;
  readonly tax?: number;
  readonly final?: boolean;
  readonly line?: number;
  readonly lineIntent?: string;
  readonly card?: number;
  readonly endsHold?: boolean;
  readonly before?: number;
  readonly status?: string;
}

async function capture({ session, intent, line: lineId }: Held, parts: Parts = {}): Promise<string> {
  const id = `fcap_${randomUUID()}`;
  const { amount = 1_000, tax = 0, final = false, endsHold = final, before = 0, status = 'pending' } = parts;
  await fixture.test.admin(
    `with capture as (
       insert into checkout.captures (account_id, test_mode, id, session_id, cause, status, amount_cents, tax_cents, shipping_cents,
         discount_cents, final, created_at) values ($1, true, $2, $3, 'session', $4, $5, $6, 0, 0, $7, now())
     ), lines as (
       insert into checkout.capture_lines (account_id, test_mode, capture_id, line_id, payment_intent_id, amount_cents)
       select $1, true, $2, $8, $9, $10::bigint where $10::bigint <> 0
     )
     insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
       amount_cents, status, acting_at, capture_id, ends_hold, received_before_cents)
     select $1, true, $2 || '_o', $11, 'fatt_x', 'pi_x', 'capture', $12::bigint, $4::text, now(), $2, $13, $14::bigint
     where $12::bigint <> 0`,
    [
      ...[
        fixture.scope.accountId,
        id,
        session.id,
        status === 'succeeded' ? 'pending' : status,
        amount,
        tax,
        final,
        lineId,
      ],
      ...[parts.lineIntent ?? intent, parts.line ?? amount, intent, parts.card ?? amount, endsHold, before],
    ],
  );
  return id;
}

describe('a capture never takes more than was authorized, whatever a statement says', () => {
  test.each<[string, Parts, string]>([
    ['of its session', { amount: 5_001, line: 5_000, card: 5_000, final: true }, 'capture_within_session'],
    ['of a component', { tax: 1_001 }, 'capture_within_components'],
    ['of a line', { amount: 5_000, line: 5_001, final: true }, 'capture_within_line'],
    ['of a card', { amount: 5_000, card: 5_001, final: true }, 'operation_within_hold'],
  ])('%s', async (_, parts, constraint) => {
    await expect(capture(await held(), parts)).rejects.toMatchObject({ constraint });
  });

  test('by what is captured of the session, the component, the line and the card before', async () => {
    const subject = await held();
    const { session, intent, line: lineId } = subject;
    await fixture.test.admin(
      'update checkout.payment_intents set amount_received_cents = 3000, amount_capturable_cents = 2000 where id = $1',
      [intent],
    );
    await expect(capture(subject, { amount: 2_001, before: 3_000, final: true })).rejects.toMatchObject({
      constraint: 'operation_within_hold',
    });
    await fixture.test.admin(
      'update checkout.session_lines set amount_captured_cents = 3000, payment_intent_id = $2 where id = $1',
      [lineId, intent],
    );
    await expect(capture(subject, { amount: 2_001, card: 2_000, before: 3_000, final: true })).rejects.toMatchObject({
      constraint: 'capture_within_line',
    });
    await expect(capture(subject, { amount: 500, lineIntent: 'fpi_other', before: 3_000 })).rejects.toMatchObject({
      constraint: 'line_is_paid_by_one_card',
    });
    await fixture.test.admin('update checkout.sessions set captured_tax_cents = 600 where id = $1', [session.id]);
    await expect(capture(subject, { amount: 500, tax: 401, before: 3_000 })).rejects.toMatchObject({
      constraint: 'capture_within_components',
    });
    await capture(subject, { amount: 2_000, tax: 400, before: 3_000, final: true });
  });
});

describe('a capture', () => {
  test.each<[string, Parts, string]>([
    ['sums over its lines', { amount: 1_000, line: 900 }, 'capture_is_the_sum_of_its_lines'],
    ['sums over its cards', { amount: 1_000, card: 900 }, 'capture_is_the_sum_of_its_cards'],
    ['takes something, unless it is final', { amount: 0 }, 'captures_amount_cents_check'],
    ['knows what its card gave before', { before: 1 }, 'operation_within_hold'],
    ['ends the hold with its last cent', { amount: 5_000 }, 'operation_within_hold'],
    ['has a known state', { status: 'lost', card: 0 }, 'captures_status_check'],
  ])('%s', async (_, parts, constraint) => {
    await expect(capture(await held(), parts)).rejects.toMatchObject({ constraint });
  });

  test('is the only unsettled one of its session and of its card', async () => {
    const subject = await held();
    const first = await capture(subject);
    const withoutCard = { amount: 0, final: true };
    await expect(capture(subject, withoutCard)).rejects.toMatchObject({ constraint: 'captures_one_pending' });
    await fixture.test.admin("update checkout.captures set status = 'failed' where id = $1", [first]);
    await expect(capture(subject)).rejects.toMatchObject({ constraint: 'intent_operations_one_pending' });
  });

  test('of which one ends a hold is its last', async () => {
    const subject = await held();
    const first = await capture(subject, { final: true });
    await fixture.test.admin("update checkout.captures set status = 'succeeded' where id = $1", [first]);
    await fixture.test.admin("update checkout.intent_operations set status = 'done' where capture_id = $1", [first]);
    await expect(capture(subject, { final: true })).rejects.toMatchObject({ constraint: 'intent_operations_one_end' });
  });

  test.each([
    ["status = 'pending'"],
    ['amount_cents = amount_cents - 1'],
    ["status = 'failed'"],
    ['final = true'],
    ["session_id = 'fcs_other'"],
  ])('that succeeded does not change: %s', async (set) => {
    const id = await capture(await held());
    await fixture.test.admin("update checkout.captures set status = 'succeeded' where id = $1", [id]);
    await expect(fixture.test.admin(`update checkout.captures set ${set} where id = $1`, [id])).rejects.toMatchObject({
      constraint: 'capture_is_final',
    });
  });

  test('gets smaller only as it ends, and never larger', async () => {
    const id = await capture(await held());
    const set = (change: string) => fixture.test.admin(`update checkout.captures set ${change} where id = $1`, [id]);
    await expect(set('amount_cents = 999')).rejects.toMatchObject({ constraint: 'capture_is_final' });
    await expect(set("amount_cents = 1001, status = 'succeeded'")).rejects.toMatchObject({
      constraint: 'capture_is_final',
    });
    await set("amount_cents = 999, status = 'succeeded'");
  });
});

describe('an intent that is captured in parts', () => {
  test('has received money while it is held, and is not canceled with it', async () => {
    const { intent } = await held();
    const set = (change: string) =>
      fixture.test.admin(`update checkout.payment_intents set ${change} where id = $1`, [intent]);
    await set('amount_received_cents = 1000, amount_capturable_cents = 4000');
    await expect(set("status = 'canceled', amount_capturable_cents = 0")).rejects.toMatchObject({
      constraint: 'payment_intents_received_when_succeeded',
    });
    await set("status = 'succeeded', amount_capturable_cents = 0");
  });

  test('has a time by which it lapses, and one that is captured at once has none [D14.176]', async () => {
    const { intent } = await held();
    const set = (change: string) =>
      fixture.test.admin(`update checkout.payment_intents set ${change} where id = $1`, [intent]);
    await set('capture_before = now()');
    await expect(set("capture_before = now(), capture_method = 'automatic'")).rejects.toMatchObject({
      constraint: 'capture_before_of_a_hold',
    });
  });
});
