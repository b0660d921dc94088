import { cents, newId } from '@eligo/values';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

// What may be asked of a session that two cards paid, of which a part recurs, in the order in which it is begun; two at a time overlap.
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ what: fc.constant('amount' as const), amount: fc.integer({ min: 1, max: 4_000 }) },
      recurringLinesOnly: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('card' as const), card: fc.nat(1), amount: fc.nat(4_000) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('rest' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('again' as const), which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('release' as const), which: fc.nat(20), card: fc.nat(2) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

it('no card and no line refunds more than it paid, and nothing that remains is refused, whatever is refunded, failed and retried concurrently', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const session = await paidSession();
      const begun: string[] = [];
      for (let at = 0; at < steps.length; at += 2) {
        await Promise.all(steps.slice(at, at + 2).map((one) => carryOut(session, one, begun)));
        await agrees(session);
        await givesWhatRemains(session);
      }
      // All of it can be given back, once.
      for (const refundId of begun) await releaseRefund(fixture.context, fixture.scope, refundId, []);
      expect(await agrees(session)).toBe(0);
      await reserve(session, newId('refund'), null, {});
      expect(await agrees(session)).toBe(session.amountReceivedCents);
    }),
    { numRuns: 12 },
  );
}, 120_000);

async function paidSession(): Promise<Session> {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(hsa, {
    mode: 'subscription',
    lines: [
      line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true }),
      line({ unitAmount: 1_500, class: 'auto_substantiation' }),
      line({ unitAmount: 1_000, recurring: true }),
      line({ unitAmount: 5_000 }),
    ],
  });
  return completeSession(fixture.context, fixture.scope, {
    sessionId: session.id,
    paymentMethodIds: [hsa.id, credit.id],
    shippingDetails: null,
  });
}

function reserve(
  session: Session,
  refundId: string,
  paymentIntentId: string | null,
  instruction: Partial<RefundInstruction>,
  preview = false,
) {
  return reserveRefund(fixture.context, fixture.scope, {
    refundId,
    sessionId: paymentIntentId === null ? session.id : null,
    paymentIntentId,
    instruction: { entries: [], methods: [], ...instruction },
    features: [],
    preview,
  });
}

// Refusals are answers here: what they must not do is move money, which is looked at after each step.
async function carryOut(session: Session, one: Step, begun: string[]): Promise<void> {
  const which = 'which' in one ? begun[one.which % Math.max(begun.length, 1)] : undefined;
  if (one.what === 'release') {
    if (which === undefined) return;
    const card = session.paymentIntentIds[one.card];
    await releaseRefund(fixture.context, fixture.scope, which, card === undefined ? [] : [card]);
    return;
  }
  const refundId = which ?? newId('refund');
  if (which === undefined) begun.push(refundId);
  const card = one.what === 'card' ? (session.paymentIntentIds[one.card] ?? null) : null;
  const amount = 'amount' in one && one.amount > 0 ? { amount: cents(one.amount) } : {};
  const recurringLinesOnly = 'recurringLinesOnly' in one && one.recurringLinesOnly;
  await reserve(session, refundId, card, { ...amount, recurringLinesOnly }).catch((error: { code?: string }) => {
    expect(['refund_amount_exceeds_remaining', 'conflict', 'lock_timeout']).toContain(error.code);
  });
}

// Nothing that is within what remains is refused: of the session, of each card, and of the lines that recur.
async function givesWhatRemains(session: Session): Promise<void> {
  const [sums] = await fixture.test.admin<{ all: string; recurring: string }>(
    `select sum(amount_captured_cents - amount_refunded_cents) as all,
       sum(amount_captured_cents - amount_refunded_cents) filter (where recurring_interval is not null) as recurring
     from checkout.session_lines where session_id = $1`,
    [session.id],
  );
  for (const [most, recurringLinesOnly] of [
    [Number(sums?.all), false],
    [Number(sums?.recurring), true],
  ] as const) {
    for (const amount of [most, Math.ceil(most / 3)].filter((one) => one > 0)) {
      const { cards } = await reserve(
        session,
        newId('refund'),
        null,
        { amount: cents(amount), recurringLinesOnly },
        true,
      );
      expect(cards.reduce((sum, { amountCents }) => sum + amountCents, 0)).toBe(amount);
    }
    const beyond = { amount: cents(most + 2), recurringLinesOnly };
    await expect(reserve(session, newId('refund'), null, beyond, true)).rejects.toMatchObject({
      code: 'refund_amount_exceeds_remaining',
    });
  }
}

// The session, its cards, its lines, its charges, the reservations and the ledger say the same, and none says more than was taken.
async function agrees(session: Session): Promise<number> {
  const [sums] = await fixture.test.admin<Record<string, string>>(
    `select s.amount_refunded_cents as session,
       (select sum(i.amount_refunded_cents) from checkout.payment_intents i where i.session_id = s.id) as cards,
       (select sum(c.amount_refunded_cents) from checkout.charges c join checkout.payment_intents i on i.latest_charge_id = c.id
         where i.session_id = s.id) as charges,
       (select sum(l.amount_refunded_cents) from checkout.session_lines l where l.session_id = s.id) as lines,
       (select coalesce(sum(p.amount_cents) filter (where not p.released), 0) from checkout.refund_reservation_parts p
         join checkout.refund_reservations r using (account_id, test_mode, refund_id)
         join checkout.payment_intents i on i.id = p.payment_intent_id where i.session_id = s.id) as reserved,
       (select coalesce(sum(case e.kind when 'refund_reserved' then e.amount_cents when 'refund_released' then -e.amount_cents else 0 end), 0)
         from checkout.ledger_entries e join checkout.payment_intents i on i.id = e.payment_intent_id where i.session_id = s.id) as ledger,
       (select count(*) from checkout.payment_intents i where i.session_id = s.id and i.amount_refunded_cents > i.amount_received_cents) as over_card,
       (select count(*) from checkout.session_lines l where l.session_id = s.id and l.amount_refunded_cents > l.amount_captured_cents) as over_line
     from checkout.sessions s where s.id = $1`,
    [session.id],
  );
  const { session: whole = '', over_card, over_line, ...others } = sums ?? {};
  expect({ over_card, over_line }).toEqual({ over_card: '0', over_line: '0' });
  for (const [name, sum] of Object.entries(others)) expect({ [name]: String(sum) }).toEqual({ [name]: String(whole) });
  return Number(whole);
}
