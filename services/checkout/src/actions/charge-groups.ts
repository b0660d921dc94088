import { appendEncoded, type EncodedEvent, encodeEvent } from '@eligo/events';
import {
  type Database,
  type GroupedWritesOptions,
  openGroupedReads,
  openGroupedWrites,
  type Scope,
  sqlState,
  type Tx,
  withTx,
} from '@eligo/postgres';
import type {
  CapturedWrite,
  ChargedSecondWrite,
  ChargeGroups,
  Context,
  HeldFirstWrite,
  InvoiceSettlement,
  PagePaymentWrite,
  SettlementWrite,
} from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { insertCaptures, settleCaptured, settleCapturedOnPage } from '../store/captures-together.ts';
import { type AttemptToSend, fenceAttempts } from '../store/charge-attempts.ts';
import type { IntentOperation } from '../store/intent-operations.ts';
import { insertPagePayments, insertTypedCards, loadPages, lockUnchanged } from '../store/page-payments.ts';
import { arePaymentsInFlight } from '../store/payment-in-flight.ts';
import { findIntents } from '../store/payment-intents.ts';
import { type ConfirmedMethod, recordConfirmedMethod } from '../store/payment-methods.ts';
import { saveSession } from '../store/sessions.ts';
import { settleConfirmed, settlePaidOnPage, settleSecondOnPage } from '../store/settle-confirmed.ts';
import { settleInvoiceCharges } from '../store/settle-invoice-charges.ts';
import { settleHeldFirst } from '../store/two-cards.ts';
import type { Claimed, GroupedClaim } from './charge-claim.ts';
import { claimCaptures } from './claim-captures.ts';
import { type Claiming, claimCharge } from './claim-charge.ts';
import { claimCharges } from './claim-charges.ts';
import { claimInvoiceCharges, type InvoiceClaim, type InvoiceClaimed } from './claim-invoice-charges.ts';
import type { GroupedReservation, ReservedRefund } from './planned-reservation.ts';
import { receiptCommand, wantsReceipt } from './receipt-command.ts';
import { appendRedemptionsEnd } from './redemptions-end.ts';
import { reserveRefundAlone } from './reserve-refund.ts';
import { reserveRefunds } from './reserve-refunds.ts';
import { journalOfSettlements } from './tell-journal.ts';

/** Opens the groups of one process. */
export function openChargeGroups(context: Claiming & Pick<Context, 'database'>): ChargeGroups {
  const { database, failpoint, budgets } = context;
  return {
    claims: openGroupedWrites<GroupedClaim, Claimed>({
      database,
      writeGroup: (tx, scope, claims) => claimCharges(context, tx, scope, claims),
      writeAlone: (scope, claim) =>
        withTx(database, scope, (tx) => claimCharge(context, tx, scope, claim), { lockTimeoutMs: budgets.lockMs }),
    }),
    invoiceClaims: openGroupedWrites<InvoiceClaim, InvoiceClaimed>({
      database,
      writeGroup: (tx, scope, invoiceClaims) => claimInvoiceCharges(budgets, tx, scope, invoiceClaims),
      writeAlone: (_scope, { alone }) => alone(),
    }),
    invoiceSettlements: openGroupedWrites<InvoiceSettlement, boolean>({
      database,
      async writeGroup(tx, scope, settlements) {
        const journal = journalOfSettlements(scope, settlements);
        const isTold = journal !== undefined;
        const [areWritten] = await Promise.all([
          settleInvoiceCharges(
            tx,
            scope,
            settlements.map((settlement) => ({ ...settlement, isTold })),
          ),
          appendEncoded(tx, [...eventsOf(settlements), ...(isTold ? [encodeEvent(journal)] : [])]),
        ]);
        await failpoint('charge.before_settle_commit');
        return areWritten ? settlements.map(() => true) : undefined;
      },
      // The caller settles it from its rows.
      writeAlone: async () => false,
      idOf: ({ attempt }) => attempt.id,
    }),
    fences: openGroupedWrites<AttemptToSend, ChargeAttempt | undefined>({
      database,
      writeGroup: fenceAttempts,
      idOf: ({ attempt }) => attempt.id,
    }),
    settlements: openGroupedWrites(
      allOrNothing(
        database,
        (tx, scope, all: readonly SettlementWrite[]) => writeSettlements(context, tx, scope, all),
        { idOf: attemptIdOf },
      ),
    ),
    paymentsInFlight: openGroupedReads((scope, ids) => arePaymentsInFlight(database, scope, ids)),
    pages: openGroupedReads((scope, ids) => loadPages(database, scope, ids)),
    pagePayments: openGroupedWrites(
      allOrNothing(database, beginPayments, { idOf: ({ session }) => session.id, lockTimeoutMs: budgets.lockMs }),
    ),
    pageSettlements: openGroupedWrites(
      allOrNothing(
        database,
        (tx, scope, all: readonly SettlementWrite[]) => writePageSettlements(context, tx, scope, all),
        { idOf: attemptIdOf },
      ),
    ),
    heldFirst: openGroupedWrites(
      allOrNothing(database, (tx, scope, all: readonly HeldFirstWrite[]) => writeHeldFirst(context, tx, scope, all), {
        idOf: attemptIdOf,
      }),
    ),
    chargedSecond: openGroupedWrites(
      orNothing(
        database,
        (tx, scope, all: readonly ChargedSecondWrite[]) => writeChargedSecond(context, tx, scope, all),
        { idOf: attemptIdOf },
      ),
    ),
    capturesOnPage: openGroupedWrites(
      allOrNothing(database, (tx, scope, all) => writeCaptured(context, tx, scope, all, settleCapturedOnPage), {
        idOf: ({ operationId }) => operationId,
      }),
    ),
    captures: openGroupedWrites(
      orNothing(database, (tx, scope, all) => claimCaptures(context, tx, scope, all), {
        lockTimeoutMs: budgets.lockMs,
      }),
    ),
    capturesDone: openGroupedWrites(
      allOrNothing(database, (tx, scope, all) => writeCaptured(context, tx, scope, all, settleCaptured), {
        idOf: ({ operationId }) => operationId,
      }),
    ),
    reservations: openGroupedWrites<GroupedReservation, ReservedRefund>({
      database,
      writeGroup: (tx, scope, reservations) => reserveRefunds(context, tx, scope, reservations),
      writeAlone: (scope, { reservation }) => reserveRefundAlone(context, scope, reservation),
    }),
  };
}

/** Rolls the transaction back: what it wrote was based on a record that is out of date. */
class ChangedSinceRead extends Error {}

/** By what a write is expected, and how long it waits for a lock. */
interface WritesOf<Item> {
  idOf?(item: Item): string;
  readonly lockTimeoutMs?: number;
}

function attemptIdOf({ attempt }: { readonly attempt: ChargeAttempt }): string {
  return attempt.id;
}

// Writes that are based on what was read before: all of a group, or none of it. Each of the group is then tried alone, and false says of it that nothing was written.
// A write that begins something waits for a lock as briefly as a claim; one that records what the processor has done already waits as long as any other.
function allOrNothing<Item>(
  database: Database,
  write: (tx: Tx, scope: Scope, items: readonly Item[]) => Promise<boolean>,
  of: WritesOf<Item>,
): GroupedWritesOptions<Item, boolean> {
  const writeGroup = async (tx: Tx, scope: Scope, items: readonly Item[]) =>
    (await write(tx, scope, items)) ? items.map(() => true) : undefined;
  const { writeAlone, ...others } = orNothing(database, writeGroup, of);
  return { ...others, writeGroup, writeAlone: async (scope, item) => (await writeAlone(scope, item)) === true };
}

// The same of writes with results: undefined says of an item that nothing was written.
function orNothing<Item, Result>(
  database: Database,
  writeGroup: (tx: Tx, scope: Scope, items: readonly Item[]) => Promise<readonly Result[] | undefined>,
  { idOf, lockTimeoutMs }: WritesOf<Item>,
): GroupedWritesOptions<Item, Result | undefined> & {
  writeAlone(scope: Scope, item: Item): Promise<Result | undefined>;
} {
  return {
    database,
    writeGroup,
    ...(idOf === undefined ? {} : { idOf }),
    async writeAlone(scope, item) {
      try {
        return await withTx(
          database,
          scope,
          async (tx) => {
            const written = await writeGroup(tx, scope, [item]);
            if (written === undefined) throw new ChangedSinceRead();
            return written[0];
          },
          lockTimeoutMs === undefined ? {} : { lockTimeoutMs },
        );
      } catch (error) {
        // A constraint refuses what another request has made impossible meanwhile.
        if (error instanceof ChangedSinceRead || sqlState(error)?.startsWith('23') === true) return undefined;
        throw error;
      }
    },
  };
}

function eventsOf(items: readonly { readonly events: readonly EncodedEvent[] }[]): EncodedEvent[] {
  return items.flatMap(({ events }) => events);
}

// What the cards that were typed on a page have become.
async function recordMethods(
  tx: Tx,
  scope: Scope,
  items: readonly { readonly method?: ConfirmedMethod | undefined }[],
): Promise<void> {
  await Promise.all(items.map(({ method }) => method && recordConfirmedMethod(tx, scope, method)));
}

async function beginPayments(tx: Tx, scope: Scope, payments: readonly PagePaymentWrite[]): Promise<boolean> {
  // The sessions first, as every process that pays, settles or abandons takes them.
  const locked = lockUnchanged(
    tx,
    scope,
    payments.map(({ session }) => session),
  );
  // An address is written into the session as it was read.
  if (payments.some(({ address }) => address !== null) && !(await locked)) return false;
  const written = await Promise.all([
    locked,
    insertTypedCards(
      tx,
      scope,
      payments.flatMap(({ cards }) => cards),
    ),
    insertPagePayments(tx, scope, payments),
    appendEncoded(tx, eventsOf(payments)),
    ...payments.map(({ session, address }) =>
      address === null ? undefined : saveSession(tx, scope, session, { ...session, shippingDetails: address }),
    ),
  ]);
  return written[0] && written[1] && written[2];
}

async function writeHeldFirst(
  { failpoint }: Pick<Claiming, 'failpoint'>,
  tx: Tx,
  scope: Scope,
  holds: readonly HeldFirstWrite[],
): Promise<boolean> {
  const [areWritten] = await Promise.all([
    settleHeldFirst(tx, scope, holds),
    appendEncoded(tx, eventsOf(holds)),
    recordMethods(tx, scope, holds),
  ]);
  await failpoint('charge.before_settle_commit');
  return areWritten;
}

async function writeChargedSecond(
  { failpoint, budgets }: Claiming,
  tx: Tx,
  scope: Scope,
  charges: readonly ChargedSecondWrite[],
): Promise<readonly IntentOperation[] | undefined> {
  const [areWritten, operations] = await Promise.all([
    settleSecondOnPage(tx, scope, charges),
    insertCaptures(
      tx,
      scope,
      charges.map(({ capture }) => capture),
      budgets.leaseMs,
    ),
    appendOutcome(tx, scope, charges),
    recordMethods(tx, scope, charges),
  ]);
  await failpoint('charge.before_settle_commit');
  return areWritten ? operations : undefined;
}

async function writePageSettlements(
  { failpoint }: Pick<Claiming, 'failpoint'>,
  tx: Tx,
  scope: Scope,
  settlements: readonly SettlementWrite[],
): Promise<boolean> {
  const [areWritten] = await Promise.all([
    settlePaidOnPage(tx, scope, settlements),
    appendOutcome(tx, scope, settlements),
    recordMethods(tx, scope, settlements),
  ]);
  await failpoint('charge.before_settle_commit');
  return areWritten;
}

async function writeSettlements(
  { failpoint }: Pick<Claiming, 'failpoint'>,
  tx: Tx,
  scope: Scope,
  settlements: readonly SettlementWrite[],
): Promise<boolean> {
  const [areWritten] = await Promise.all([
    settleConfirmed(tx, scope, settlements),
    appendOutcome(tx, scope, settlements),
  ]);
  await failpoint('charge.before_settle_commit');
  return areWritten;
}

async function appendOutcome(
  tx: Tx,
  scope: Scope,
  settlements: readonly Pick<SettlementWrite, 'after' | 'events'>[],
): Promise<void> {
  const completed = settlements.flatMap(({ after }) => (after.status === 'complete' ? [after] : []));
  await Promise.all([
    appendEncoded(tx, eventsOf(settlements)),
    ...completed.map((session) => appendRedemptionsEnd(tx, scope, session, 'finalize')),
  ]);
}

async function writeCaptured(
  { failpoint }: Pick<Claiming, 'failpoint'>,
  tx: Tx,
  scope: Scope,
  captures: readonly CapturedWrite[],
  settle: typeof settleCaptured,
): Promise<boolean> {
  const [areWritten] = await Promise.all([settle(tx, scope, captures), appendOutcome(tx, scope, captures)]);
  if (areWritten) await appendReceipts(tx, scope, captures);
  await failpoint('hold.before_record_commit');
  return areWritten;
}

// A receipt says what each card has paid, also by earlier captures, and what was captured of each line; the transaction has just written the last of it.
async function appendReceipts(tx: Tx, scope: Scope, captures: readonly CapturedWrite[]): Promise<void> {
  for (const { after, capture, inContext } of captures) {
    if (!wantsReceipt(after)) continue;
    const intents = await findIntents(tx, scope, after.paymentIntentIds);
    const paid = intents.filter(({ amountReceivedCents }) => amountReceivedCents > 0);
    const command = await receiptCommand(tx, scope, after, paid, capture.at);
    await appendEncoded(tx, [inContext(() => encodeEvent(command))]);
  }
}
