import { Failure } from '@eligo/failures';
import {
  commitBehind,
  type Database,
  type GroupedReads,
  type GroupedWrites,
  isRefusal,
  keyInUse,
  openGroupedReads,
  openGroupedWrites,
  type Scope,
  type Tx,
  withTx,
} from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { type Cents, cents, centsFromInt64, isId, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { accountToCharge } from '../domain/card-account.ts';
import { acceptsHealthCards } from '../domain/confirm-rules.ts';
import { needsLetter } from '../domain/eligibility.ts';
import {
  isPaidOnPage,
  type LetterTerms,
  newSession,
  type ResolvedCart,
  requireTerms,
  type SessionTerms,
  shortestSessionMs,
} from '../domain/new-session.ts';
import { refuseTooSmall } from '../domain/payment-plan.ts';
import { isChargedAtCreation, type Session } from '../domain/session.ts';
import {
  type CreationFacts,
  type FactsQuery,
  namesNothing,
  noFacts,
  readCreationFacts,
} from '../store/creation-facts.ts';
import { findCustomer } from '../store/customers.ts';
import { findValidLetters } from '../store/letters.ts';
import {
  insertKeyedSessions,
  insertSession,
  insertSessions,
  isWrittenByOneStatement,
  type KeyedSessionRows,
  type NewSessionRows,
} from '../store/new-sessions.ts';
import { arePaymentsInFlight } from '../store/payment-in-flight.ts';
import { type SessionKey, takeSessionKey } from '../store/session-keys.ts';
import { loadSession } from '../store/sessions.ts';
import { chargeAtOnce } from './charge-at-once.ts';
import { expireReplaced } from './end-session.ts';
import { givesBackRedemptions } from './give-back-redemptions.ts';
import { activateInline, hasInlineParts, keepActivation } from './inline-parts.ts';
import { forgetReservation, reserveForSession } from './reserve-redemptions.ts';
import { type GivenCart, resolveCart } from './resolve-cart.ts';
import { runCatalogTask } from './run-catalog-task.ts';
import { isWrittenMeanwhile } from './written-meanwhile.ts';

export interface SessionRequest {
  readonly terms: SessionTerms;
  readonly cart: GivenCart;
  readonly key: SessionKey | undefined;
}

/**
 * Creates a session: prices the cart at the catalog, splits it and writes it in one transaction. Under a key (decisions 1.1) the same body
 * answers with the same session while that is open, paid or complete; another body makes a new one and expires the old.
 */
export async function createSession(context: Context, call: Call, request: SessionRequest): Promise<Session> {
  requireTerms(request.terms, request.cart.lines.length);
  const { terms, key } = request;
  const query = { customerId: terms.customerId, paymentMethodId: terms.paymentMethodId, key: key?.key ?? null };
  // Two requests with one key meet at its row: the loser looks again, and finds the winner's session.
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const created = await createOnce(context, call, request, query);
      if (created !== undefined) return created;
    } catch (error) {
      const asked = { query, requestHash: key?.requestHash };
      if (attempt > 0 || !(await isWrittenMeanwhile(context, call.scope, error, asked))) throw error;
    }
  }
  throw keyInUse();
}

async function createOnce(
  context: Context,
  call: Call,
  request: SessionRequest,
  query: FactsQuery,
): Promise<Session | undefined> {
  const { scope } = call;
  const { terms, key } = request;
  const facts = namesNothing(query) ? noFacts : await context.creationFacts.submit(scope, query);
  const same = await sameSession(context, scope, facts, key);
  if (same !== undefined) return chargeIfAsked(context, call, same);

  await refuseWhilePaid(context, scope, facts);
  refuseBadReferences(context, scope, terms, facts);
  await refuseUnknownDefault(context, scope, terms);
  const at = facts.customer?.frozenTime ?? context.clock.now();
  refusePastTimes(terms, at);
  const id = newId('checkout_session');
  const replaced = facts.earlier?.status === 'open' ? facts.earlier : undefined;
  const inPlaceOf = [replaced?.sessionId, replaced?.enteredDiscountId].filter((held) => typeof held === 'string');
  const resolved = await resolveCart(context, call, id, request.cart, terms.customerId, at, inPlaceOf);
  const { cart, shipping, needsRelease } = resolved;
  const details = {
    ...terms.details,
    ...(shipping === undefined ? {} : { shipping }),
    ...(isPaidOnPage(terms.mode) ? { redirectUrl: context.pages.urlOf(scope, id) } : {}),
  };
  const customerEmail = terms.customerEmail ?? facts.customer?.email ?? null;
  const letters = {
    existing: await existingLetters(context, scope, terms, cart, at),
    feeCents: letterFeeOf(call, terms),
  };
  const clockId = facts.customer?.testClockId ?? null;
  const rows = newSession(id, { ...terms, customerEmail, details }, cart, at, clockId, letters);
  // Before its coupons are redeemed and its inline products become active.
  if (isChargedAtCreation(rows.session)) refuseTooSmall(rows.session.amountTotalCents);

  // Only now that nothing else refuses the new cart: a refused one leaves the old one open.
  if (needsRelease && !(await givesBackRedemptions(context, call, replaced?.sessionId ?? ''))) return undefined;
  const reserved = await reserveForSession(context, call, rows.session, request.cart.discounts, at);
  const isInline = hasInlineParts(request.cart);
  const written = await writeOrGiveBack(context, call, rows, { key, earlier: facts.earlier, reserved, isInline });
  if (!written) return undefined;
  if (isInline) await activateInline(context, call, id);
  return chargeIfAsked(context, call, rows.session);
}

// An old cart must not be paid beside the new one. Said before anything is made or redeemed for that; the transaction that writes it decides.
async function refuseWhilePaid({ database }: Context, scope: Scope, { earlier }: CreationFacts): Promise<void> {
  if (earlier?.status !== 'open') return;
  const [isPaid] = await arePaymentsInFlight(database, scope, [earlier.sessionId]);
  if (isPaid) throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

// A session in mode `reimbursement` is paid with an ordinary card, which needs no letter.
function letterFeeOf({ caller }: Call, { mode }: SessionTerms): Cents {
  return mode === 'reimbursement' ? cents(0) : centsFromInt64(caller.letterFeeCents);
}

// A letter is valid for one customer and product. Few sessions have a line that needs one, so the others pay nothing for this. The session ends with its letter: one
// that ends before a shopper has had time to pay serves no more sessions but those that are charged at once.
async function existingLetters(
  { database }: Context,
  scope: Scope,
  { customerId, mode, paymentMethodId }: SessionTerms,
  { lines }: ResolvedCart,
  at: Date,
): Promise<LetterTerms['existing']> {
  const products = new Set(lines.filter((line) => needsLetter(line.eligibilityClass)).map((line) => line.productId));
  if (customerId === null || products.size === 0) return new Map();
  const timeToPayMs = isChargedAtCreation({ mode, paymentMethodId }) ? 0 : shortestSessionMs;
  return findValidLetters(database, scope, customerId, [...products], new Date(at.getTime() + timeToPayMs));
}

async function sameSession(
  { database }: Context,
  scope: Scope,
  { earlier }: CreationFacts,
  key: SessionRequest['key'],
): Promise<Session | undefined> {
  if (earlier === undefined || key === undefined || !earlier.requestHash.equals(key.requestHash)) return undefined;
  if (earlier.status === 'expired' || earlier.status === 'canceled') return undefined;
  return loadSession(database, scope, earlier.sessionId);
}

interface Writing {
  readonly key: SessionRequest['key'];
  readonly earlier: CreationFacts['earlier'];
  readonly reserved: boolean;
  readonly isInline: boolean;
}

// What was redeemed for a session that is not written is given back at once: the same request comes again soon. After an error that is no refusal, or without an
// answer to COMMIT, the task looks later whether the session was written.
async function writeOrGiveBack(context: Context, call: Call, rows: NewSessionRows, as: Writing): Promise<boolean> {
  const { scope } = call;
  const { id: sessionId } = rows.session;
  const giveBack = async () => {
    if (as.reserved) await runCatalogTask(context, { scope, sessionId, kind: 'release_unless_written' }, call);
  };
  try {
    const written = await write(context, scope, rows, as);
    if (!written) await giveBack();
    return written;
  } catch (error) {
    if (isRefusal(error)) await giveBack();
    throw error;
  }
}

async function write(
  context: Context,
  scope: Scope,
  rows: NewSessionRows,
  { key, earlier, reserved, isInline }: Writing,
): Promise<boolean> {
  const { id } = rows.session;
  if (!reserved && !isInline && isWrittenByOneStatement(rows)) {
    if (key === undefined) {
      await context.newSessions.submit(scope, rows);
      return true;
    }
    if (earlier === undefined) return context.newKeyedSessions.submit(scope, { rows, key });
  }
  try {
    await withTx(context.database, scope, async (tx) => {
      const taken = key === undefined ? undefined : takeSessionKey(tx, scope, key, id, earlier?.sessionId ?? null);
      const inserted = insertSession(tx, scope, rows);
      const [isMine] = await Promise.all([taken ?? true, inserted]);
      if (!isMine) throw new KeyTaken();
      if (earlier?.status === 'open') await expireReplaced(context, tx, scope, earlier.sessionId);
      if (reserved) await forgetReservation(tx, scope, id);
      if (isInline) await keepActivation(tx, scope, id);
    });
    return true;
  } catch (error) {
    if (error instanceof KeyTaken) return false;
    throw error;
  }
}

/** Another request has used the key since it was read. */
class KeyTaken extends Error {}

// A bad reference in a body is a 422 that names it (decisions 1.9).
function refuseBadReferences({ processors }: Context, scope: Scope, terms: SessionTerms, facts: CreationFacts): void {
  const { customerId, paymentMethodId, mode } = terms;
  if (customerId !== null && facts.customer === undefined) throw badReference(['customer'], 'customer', customerId);
  if (paymentMethodId === null) return;
  const method = facts.paymentMethod;
  if (method === undefined) throw badReference(['payment_method'], 'payment_method', paymentMethodId);
  if (method.customerId !== null && method.customerId !== customerId) {
    throw Failure.invalid([...body, 'payment_method'], 'payment_method_in_use', 'Belongs to another customer');
  }
  if (mode !== 'off_session') return;
  if (!method.offSession) throw new Failure('payment_method_not_off_session');
  // It is charged at once.
  if (method.processorAccount !== null) accountToCharge(method, processors.of(scope).account);
}

// Rarely given, so it costs a look of its own and not a join for everybody.
async function refuseUnknownDefault(
  { database }: Context,
  scope: Scope,
  { customerId, details }: SessionTerms,
): Promise<void> {
  const id = details.defaults?.customerId;
  if (id === undefined || id === customerId || (await findCustomer(database, scope, id)) !== undefined) return;
  throw badReference(['defaults', 'customer_id'], 'customer', id);
}

function refusePastTimes({ details }: SessionTerms, at: Date): void {
  const { cancelAtMs, trialEndMs } = details.subscriptionData ?? {};
  for (const [field, time] of [
    ['cancel_at', cancelAtMs],
    ['trial_end', trialEndMs],
  ] as const) {
    if (time !== undefined && time <= at.getTime()) {
      throw Failure.invalid([...body, 'subscription_data', field], 'value_error', 'Must be in the future');
    }
  }
}

const body = ['body', 'checkout_session'] as const;

function badReference(path: readonly string[], kind: 'customer' | 'payment_method', id: string): Failure {
  const code = `${kind}_not_found` as const;
  // Only what has the form of an identifier of ours is echoed.
  return Failure.invalid([...body, ...path], code, isId(kind, id) ? `${code}: ${id}` : code);
}

// An off-session session with a payment method is charged at once; a replay finishes what its first request left undone.
async function chargeIfAsked(context: Context, call: Call, session: Session): Promise<Session> {
  const isDue = isChargedAtCreation(session) && session.status === 'open';
  return isDue ? chargeAtOnce(context, call.scope, session, !acceptsHealthCards(call.caller)) : session;
}

/** Opens the reads of what sessions depend on. */
export function openCreationFacts(database: Database): GroupedReads<FactsQuery, CreationFacts> {
  return openGroupedReads<FactsQuery, CreationFacts>((scope, queries) => readCreationFacts(database, scope, queries));
}

/** Opens the writes of plain sessions: without redemptions, inline parts, discounts and selling plans. Without a key, too. */
export function openNewSessions(database: Database): GroupedWrites<NewSessionRows, void> {
  return openWrites(database, async (tx, scope, sessions) => {
    await insertSessions(tx, scope, sessions);
    return sessions.map(() => undefined);
  });
}

/** The same with keys that have stood for no session. Answers whether a session was written, or another one has its key. */
export function openNewKeyedSessions(database: Database): GroupedWrites<KeyedSessionRows, boolean> {
  return openWrites(database, insertKeyedSessions);
}

// `insert` sends all of a group at once, so that its COMMIT goes with it.
function openWrites<Item, Result>(
  database: Database,
  insert: (tx: Tx, scope: Scope, items: readonly Item[]) => Promise<readonly Result[]>,
): GroupedWrites<Item, Result> {
  return openGroupedWrites<Item, Result>({
    database,
    async writeGroup(tx, scope, items) {
      const inserted = insert(tx, scope, items);
      commitBehind(tx);
      return inserted;
    },
  });
}
