import { fromBinary } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { requestHash } from '@eligo/postgres';
import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import { EventSchema, type IssueReceipt } from '@eligo/proto/events/v1/events';
import { type Cents, cents } from '@eligo/values';
import { type CaptureOrder, captureSession } from '../src/actions/capture-session.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import type { ChargeBudgets } from '../src/charge-budgets.ts';
import type { Context } from '../src/context.ts';
import type { CaptureRecord } from '../src/domain/capture.ts';
import type { CaptureInstruction } from '../src/domain/capture-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findCaptureRecord } from '../src/store/capture-records.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { type FixtureOptions, line } from './fixture.ts';

/** Sessions whose cards are held, captured as a partner does it. */
export interface CapturesFixture extends ChargingFixture {
  /** 30.00 eligible on the health card and 20.00 on the other one, with 10.00 tax spread over them: held. */
  held(options?: {
    health?: string;
    other?: string;
    parts?: Parameters<ChargingFixture['session']>[0];
  }): Promise<Session>;
  /** The same with a health card that has 25.00 for its 36.00: it is approved for that part, and the other card holds the rest. */
  heldInPart(): Promise<Session>;
  /** The same on an ordinary card alone. */
  heldOnOneCard(card?: string): Promise<Session>;
  capture(session: Session, parts?: CaptureParts, with_?: Context): Promise<CheckoutSession>;
  reload(session: Session): Promise<Session>;
  records(session: Session): Promise<CaptureRecord[]>;
  /** The prices of its lines, in the cart's order. */
  prices(session: Session): Promise<string[]>;
  /** Until nothing more is done: leases lapse, and the sweeper works. */
  sweepAll(): Promise<void>;
  /** What the processor has of each card, the smaller hold first: what was held, what is captured, and how the intent stands. */
  atProcessor(session: Session): Promise<[number, number, string][]>;
  /** The command by which billing issues the receipt of a completed session, made again. */
  issuedReceipt(session: Session): Promise<IssueReceipt>;
  /** Throws unless records, lines, intents, charges, ledger and processor agree to the cent, and nothing is unsettled. */
  booksAgree(session: Session): Promise<void>;
}

/** A capture as a partner asks for it. */
export interface CaptureParts {
  readonly amount?: number;
  readonly entries?: readonly { readonly priceId: string; readonly amount: number }[];
  readonly tax?: number;
  readonly shipping?: number;
  readonly discount?: number;
  readonly isFinal?: boolean;
  readonly metadata?: Record<string, string>;
  readonly key?: string;
}

export async function openCapturesFixture(
  budgets: Partial<ChargeBudgets> = {},
  options: FixtureOptions = {},
): Promise<CapturesFixture> {
  const fixture = await openChargingFixture(budgets, options);
  const { context, database, scope } = fixture;
  const hold = async (session: Session, cards: readonly { id: string }[]) => {
    const paid = await completeSession(context, scope, {
      sessionId: session.id,
      paymentMethodIds: cards.map(({ id }) => id),
      shippingDetails: null,
    });
    if (paid.status !== 'paid') throw new Error(`the session is ${paid.status}`);
    return paid;
  };
  const parts = { captureMethod: 'manual', taxAmountCents: 1_000n };
  const reload = async ({ id }: Session) => {
    const found = await loadSession(database, scope, id);
    if (found === undefined) throw new Error('the session is gone');
    return found;
  };
  const one = async (text: string, values: readonly unknown[]) => {
    const [row] = await fixture.test.admin<Record<string, string>>(text, [...values]);
    return Object.values(row ?? {}).map(Number);
  };
  return {
    ...fixture,
    reload,
    async held({ health = 'hsa', other = 'credit', parts: more = {} } = {}) {
      const cards = await Promise.all([fixture.card(health), fixture.card(other)]);
      const lines = [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })];
      return hold(await fixture.session({ lines, ...parts, ...more } as typeof more), cards);
    },
    async heldInPart() {
      const [short, other] = await Promise.all([fixture.card('hsa_short'), fixture.card('credit')]);
      const lines = [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })];
      const session = await fixture.session({ lines, ...parts });
      const given = { sessionId: session.id, paymentMethodIds: [short.id], shippingDetails: null, acceptsPart: true };
      await completeSession(context, scope, given);
      return hold(session, [other]);
    },
    async heldOnOneCard(name = 'credit') {
      const lines = [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })];
      return hold(await fixture.session({ lines, ...parts }), [await fixture.card(name)]);
    },
    capture(session, asked = {}, with_ = context) {
      return captureSession(with_, scope, session.id, orderOf(asked));
    },
    async records(session) {
      const { captureIds } = await reload(session);
      const found = await Promise.all(captureIds.map((id) => findCaptureRecord(database, scope, id)));
      return found.filter((record) => record !== undefined);
    },
    async prices(session) {
      return (await loadSessionLines(database, scope, session.id)).map(({ priceId }) => priceId);
    },
    async sweepAll() {
      for (let round = 0; round < 6; round++) {
        await fixture.lapseLeases();
        await sweepCharges(context);
        const [rest] = await fixture.test.admin<{ unsettled: boolean }>(
          "select exists (select from checkout.intent_operations where status in ('pending', 'waiting')) as unsettled",
        );
        if (rest?.unsettled === false) return;
      }
    },
    async atProcessor(session) {
      const attempts = await fixture.test.admin<{ processor_intent_id: string }>(
        'select processor_intent_id from checkout.charge_attempts where subject_id = $1 and processor_intent_id is not null order by amount_cents',
        [session.id],
      );
      const processor = context.processors.of(scope);
      const intents = await Promise.all(
        attempts.map((attempt) => processor.retrieveIntent(attempt.processor_intent_id)),
      );
      return intents.map((intent): [number, number, string] => {
        if (!('amountReceivedCents' in intent)) throw new Error(`the intent is ${intent.kind}`);
        return [intent.amountCents, intent.amountReceivedCents, intent.kind];
      });
    },
    async issuedReceipt(session) {
      const told = await fixture.test.admin<{ payload: Buffer }>(
        "select payload from checkout.outbox where type = 'command.receipt.issue' and aggregate_id = $1",
        [session.id],
      );
      const [object, ...more] = told.map(({ payload }) => fromBinary(EventSchema, payload).object);
      if (object?.case !== 'issueReceipt' || more.length > 0) throw new Error('not one receipt was issued');
      return object.value;
    },
    async booksAgree(session) {
      const [received, components, unsettled] = await Promise.all([
        one('select amount_received_cents from checkout.sessions where id = $1', [session.id]),
        one(
          `select s.captured_tax_cents - coalesce(sum(k.tax_cents), 0), s.captured_shipping_cents - coalesce(sum(k.shipping_cents), 0),
             s.captured_discount_cents - coalesce(sum(k.discount_cents), 0)
           from checkout.sessions s left join checkout.captures k on k.session_id = s.id and k.status = 'succeeded'
           where s.id = $1
           group by s.captured_tax_cents, s.captured_shipping_cents, s.captured_discount_cents`,
          [session.id],
        ),
        one(
          `select (select count(*) from checkout.captures where session_id = $1 and status = 'pending'),
             (select count(*) from checkout.intent_operations o join checkout.payment_intents i on i.id = o.payment_intent_id
               where i.session_id = $1 and o.status in ('pending', 'waiting'))`,
          [session.id],
        ),
      ]);
      const sums = await one(
        `select (select coalesce(sum(amount_cents), 0) from checkout.captures where session_id = $1 and status = 'succeeded'),
           (select coalesce(sum(amount_captured_cents), 0) from checkout.session_lines where session_id = $1),
           (select coalesce(sum(amount_received_cents), 0) from checkout.payment_intents where session_id = $1),
           (select coalesce(sum(c.amount_captured_cents), 0) from checkout.charges c
             join checkout.payment_intents i on i.id = c.payment_intent_id where i.session_id = $1),
           (select coalesce(sum(e.amount_cents), 0) from checkout.ledger_entries e
             join checkout.payment_intents i on i.id = e.payment_intent_id where i.session_id = $1 and e.kind = 'capture')`,
        [session.id],
      );
      const taken = (await fixture.charges(session)).reduce((sum, charge) => sum + charge.amount_captured, 0);
      const said = JSON.stringify({ received, sums, taken, components, unsettled });
      const isEqual = [...sums, taken].every((sum) => sum === received[0]);
      if (!isEqual || [...components, ...unsettled].some((rest) => rest !== 0))
        throw new Error(`the books differ: ${said}`);
    },
  };
}

/** The order of a request, its hash as the gateway makes it. */
export function orderOf({ entries = [], isFinal = false, metadata = {}, key, ...amounts }: CaptureParts): CaptureOrder {
  const optional = (amount: number | undefined): Cents | undefined =>
    amount === undefined ? undefined : cents(amount);
  const instruction: CaptureInstruction = {
    amount: optional(amounts.amount),
    entries: entries.map((entry) => ({ ...entry, amount: cents(entry.amount) })),
    tax: optional(amounts.tax),
    shipping: optional(amounts.shipping),
    discount: optional(amounts.discount),
    isFinal,
  };
  const body = { entries, isFinal, metadata, ...amounts };
  return {
    instruction,
    metadata,
    key: key === undefined ? undefined : { key, requestHash: requestHash({ method: 'POST', path: '/capture', body }) },
  };
}

/** The status and the code that an action is refused with, or undefined. */
export async function refusal(action: Promise<unknown>): Promise<[status: number, code: string] | undefined> {
  try {
    await action;
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return [error.status, error.code];
    throw error;
  }
}
