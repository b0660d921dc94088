import { type Db, maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { CardKind } from '../domain/card-kind.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { type BegunAttempt, begunRow, begunText, insertBothText } from './charge-attempts.ts';
import { customerExistsText } from './customers.ts';
import type { PageCard } from './page-cards.ts';
import { lockText } from './payment-locks.ts';
import type { PaymentPlan } from './payment-plans.ts';
import { takesCardsOnPageText } from './session-declines.ts';
import { loadLinesOfSessions } from './session-lines.ts';
import { loadSessions } from './sessions.ts';

/** A session with its lines, as one of its pages shows it. */
export interface PaidPage {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
}

/** The sessions of these ids with their lines, in the same order; undefined for one that does not exist. */
export async function loadPages(
  db: Db,
  scope: Scope,
  sessionIds: readonly string[],
): Promise<(PaidPage | undefined)[]> {
  const wanted = [...new Set(sessionIds)];
  // The sessions first: while the version of a session is still the one read here, its lines are those read after it.
  const sessions = await loadSessions(db, scope, wanted);
  const lines = await loadLinesOfSessions(db, scope, wanted);
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const linesOf = Map.groupBy(lines, ({ sessionId }) => sessionId);
  return sessionIds.map((id) => {
    const session = byId.get(id);
    return session && { session, lines: linesOf.get(id) ?? [] };
  });
}

/** A card that was typed on a page, as it is stored from now on. */
export interface TypedCard {
  readonly card: PageCard;
  readonly method: PaymentMethod;
  readonly kind: CardKind;
}

/** A payment on the page as its first write begins it: the cards that were typed, the plan, and the attempt of the card that is charged first. */
export interface BegunPayment {
  readonly session: Pick<Session, 'id' | 'version'>;
  readonly cards: readonly TypedCard[];
  readonly plan: PaymentPlan;
  readonly first: BegunAttempt;
}

/**
 * Locks the sessions of some payments, at most 16. False when one was changed since it was read, or is of a deleted customer: the caller rolls back. The rows are not read again: with
 * its version unchanged, a session is as it was.
 */
export async function lockUnchanged(tx: Tx, scope: Scope, sessions: readonly Pick<Session, 'id' | 'version'>[]) {
  const rows = await tx.rows(lock, scope, [sessions.map(({ id }) => id), sessions.map(({ version }) => version)]);
  return rows.length === sessions.length;
}

/** Writes the cards of some payments. False when one of them was given before, on whichever page. */
export async function insertTypedCards(tx: Tx, scope: Scope, cards: readonly TypedCard[]): Promise<boolean> {
  const row = await tx.row(insertCards, scope, [JSON.stringify(cards.map(cardRow))]);
  return row?.cards === BigInt(cards.length);
}

/**
 * Writes the plans and the first attempts of some payments, at most 16, and takes their cards for the plans. False when a card is held by another payment,
 * or a session has a payment that is not over: the caller holds the sessions' rows, and rolls back.
 */
export async function insertPagePayments(tx: Tx, scope: Scope, payments: readonly BegunPayment[]): Promise<boolean> {
  const row = await tx.row(insert, scope, [
    JSON.stringify(payments.map(({ first }) => begunRow(first))),
    JSON.stringify(payments.map(planRow)),
    JSON.stringify(payments.flatMap(lockRows)),
  ]);
  const wanted = payments.reduce((sum, { cards }) => sum + cards.length, 0);
  return row?.paying === 0n && row.locks === BigInt(wanted);
}

const lock = scoped<{ id: string }>(
  'page_payments.lock_sessions',
  `select s.id from unnest($3::text[], $4::bigint[]) as w (id, version)
   join checkout.sessions s on s.account_id = $1 and s.test_mode = $2 and s.id = w.id and s.version = w.version
   where s.status = 'open' and ${takesCardsOnPageText} and ${customerExistsText}
   order by s.id for update of s`,
);

const insertCards = scoped<{ cards: bigint }>(
  'page_payments.insert_cards',
  `with typed as materialized (
     select c.* from json_to_recordset($3::json) as c (
       token text, session_id text, id text, off_session boolean, brand text, country text, exp_month integer, exp_year integer,
       funding text, last4 text, hsa_fsa boolean, hsa_fsa_source text, billing_details jsonb, created_at timestamptz,
       processor checkout.processor, processor_account text)
     limit ${2 * maxGroupSize}
   ), method as (
     insert into checkout.payment_methods (account_id, test_mode, id, processor_payment_method_id, off_session, brand, country, exp_month,
       exp_year, funding, last4, hsa_fsa, hsa_fsa_source, billing_details, metadata, created_at, processor, processor_account)
     select $1, $2, id, token, off_session, brand, country, exp_month, exp_year, funding, last4, hsa_fsa, hsa_fsa_source,
       billing_details, '{}', created_at, processor, processor_account
     from typed
   ), card as (
     insert into checkout.page_cards (account_id, test_mode, processor_payment_method_id, session_id, payment_method_id)
     select $1, $2, token, session_id, id from typed order by token
     on conflict do nothing
     returning payment_method_id
   )
   select count(*) as cards from card`,
);

const insert = scoped<{ locks: bigint; paying: bigint }>(
  'page_payments.insert',
  `with ${begunText}, ${insertBothText}, planned as materialized (
     select p.* from json_to_recordset($4::json) as p (
       id text, session_id text, health_cents bigint, other_cents bigint, health_payment_method_id text, other_payment_method_id text,
       health_attempt_id text, other_attempt_id text, lease_ms float8, acting_at timestamptz, confirm_ms float8)
     limit ${maxGroupSize}
   ), plan as (
     insert into checkout.payment_plans (account_id, test_mode, id, session_id, state, health_cents, other_cents, health_payment_method_id,
       other_payment_method_id, health_attempt_id, other_attempt_id, holds_only, lease_until, acting_at, confirm_until)
     select $1, $2, id, session_id, 'running', health_cents, other_cents, health_payment_method_id, other_payment_method_id,
       health_attempt_id, other_attempt_id, false, clock_timestamp() + lease_ms * interval '1 millisecond', acting_at,
       clock_timestamp() + confirm_ms * interval '1 millisecond'
     from planned
   ), holders as materialized (
     select h.* from json_to_recordset($5::json) as h (id text, customer_id text, payment_method_id text, lease_ms float8)
     limit ${2 * maxGroupSize}
   ), locks as (
     ${lockText('holders')}
   )
   select (select count(*) from locks) as locks, (
     select count(*) from planned p where exists (
       select from checkout.charge_attempts a
       where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = p.session_id
         and a.status in ('created', 'sending', 'unknown', 'succeeded') offset 0)
   ) as paying`,
);

function cardRow({ card, method }: TypedCard) {
  const { card: facts } = method;
  return {
    token: card.processorPaymentMethodId,
    session_id: card.sessionId,
    id: method.id,
    off_session: method.offSession,
    brand: facts.brand,
    country: facts.country,
    exp_month: facts.expMonth,
    exp_year: facts.expYear,
    funding: facts.funding,
    last4: facts.last4,
    hsa_fsa: facts.hsaFsa,
    hsa_fsa_source: facts.hsaFsaSource,
    billing_details: method.billingDetails,
    created_at: method.createdAt,
    processor: method.processorAccount?.processor,
    processor_account: method.processorAccount?.account,
  };
}

function planRow({ plan, first }: BegunPayment) {
  return {
    id: plan.id,
    session_id: plan.sessionId,
    health_cents: plan.healthCents,
    other_cents: plan.otherCents,
    health_payment_method_id: plan.healthPaymentMethodId,
    other_payment_method_id: plan.otherPaymentMethodId,
    health_attempt_id: plan.healthAttemptId,
    other_attempt_id: plan.otherAttemptId,
    lease_ms: first.attempt.leaseMs,
    acting_at: plan.actingAt,
    confirm_ms: plan.confirmLeftMs,
  };
}

function lockRows({ plan, cards, first }: BegunPayment) {
  return cards.map(({ method }) => ({
    ...{ id: plan.id, customer_id: null, payment_method_id: method.id, lease_ms: first.attempt.leaseMs },
  }));
}
