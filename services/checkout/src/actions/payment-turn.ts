import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';

/** Whom a payment needs for itself. */
export interface PaymentParties {
  readonly customerId: string | null;
  readonly paymentMethodId: string;
}

/** Another payment holds the customer or the payment method. Thrown out of the transaction, so that nothing of it is left behind. */
export class NotItsTurn extends Failure {
  readonly wanted: PaymentParties | undefined;
  constructor(wanted?: PaymentParties) {
    super('lock_timeout', { retryAfterSeconds: 1 });
    this.wanted = wanted;
  }
}

/** A request's place in the lines of its card and its customer. `leave` it, whatever becomes of the request. */
export interface PaymentTurn {
  /** By when the request's calls to the processor end, on the clock of `performance.now()`, so that its answer is in time. */
  readonly deadlineMs: number;
  /** False when an earlier request of this process waits for the same customer or card: the caller must throw `NotItsTurn`. */
  isNext(wanted: PaymentParties): boolean;
  /**
   * Runs a transaction that takes payment locks, when the request's turn has come, and again while another process holds them. In between neither
   * a connection nor a row is held. Rejects with `NotItsTurn` as soon as the request can no longer be answered in time, and at once with anything
   * else. `look` says whether the locks are held now, which costs less than to try.
   */
  take<Result>(claim: () => Promise<Result>, look: (wanted: PaymentParties) => Promise<boolean>): Promise<Result>;
  /** The request charges the card now: how long that takes tells those behind it whether it is worth to wait. */
  charge(): void;
  leave(): void;
}

/** The lines of one process; across processes the leases of the locks decide. */
export interface PaymentTurns {
  /** Keys whose requests this process works on, and since when, so that a second request with one is refused also before the first has claimed it. */
  readonly keysInUse: Map<string, number>;
  /** Whether a payment with the card is in flight or waits. */
  isBusy(scope: Scope, paymentMethodId: string): boolean;
  /** Joins the line of a card, if it is known. Throws `NotItsTurn` when the line is full, or too long to be answered in time. */
  enter(
    scope: Scope,
    paymentMethodId: string | null,
    budgets: { readonly answerMs: number; readonly settleMs: number },
  ): PaymentTurn;
}

// A card that answers within 20 ms serves four hundred in its time; behind a hundred others a request is unlikely to be answered before its client gives up.
const mostInLine = 100;
// An account may have a quarter of all places, so that none can take the others'. Each is a few hundred bytes.
const mostOfAccount = 500;
const mostInAll = 2_000;
// What a charge is taken to last before one was seen, and at least: two calls and two commits.
const leastChargeMs = 100;
// How often the first in line checks whether another process has released the locks.
const lookMs = { least: 15, most: 40 };
// A process that has held a card for so long without a break leaves it free for longer than the others' longest look, or they would never see it
// free: each of them has its turn after a quarter of a second of ours, or after one charge that takes longer.
const unbrokenMs = 250;
const breakMs = 60;

interface Ticket {
  readonly number: number;
  readonly deadlineMs: number;
  /** When its answer is due. What still works then has stalled: it keeps nobody waiting here, and its locks until their lease is over. */
  readonly answerDueMs: number;
  /** A charge counts as this long at most. A stall of a minute would otherwise have every payment refused, and nothing would show that it is over. */
  readonly longestMs: number;
  readonly lines: Set<string>;
  holding: boolean;
  chargingSinceMs: number | undefined;
  wake: (() => void) | undefined;
}

interface Line {
  /** In the order in which they came. */
  readonly tickets: Ticket[];
  chargeMs: number | undefined;
  heldMs: number;
  freeAtMs: number;
}

/** Opens the lines of a process. */
export function openPaymentTurns(): PaymentTurns {
  const lines = new Map<string, Line>();
  const ofAccount = new Map<string, number>();
  let issued = 0;
  let waiting = 0;
  // By mode, since test and live have processors of their own: what a charge took lately.
  const lately = new Map<boolean, number>();

  // A request leaves all its lines when it ends, also after one of them was full.
  function join(ticket: Ticket, name: string): void {
    if (ticket.lines.has(name)) return;
    const line = lines.get(name) ?? { tickets: [], chargeMs: undefined, heldMs: 0, freeAtMs: 0 };
    if (line.tickets.length >= mostInLine) throw new NotItsTurn();
    ticket.lines.add(name);
    lines.set(name, line);
    const after = line.tickets.findIndex((other) => other.number > ticket.number);
    line.tickets.splice(after === -1 ? line.tickets.length : after, 0, ticket);
  }

  // Those of a line that keep the ticket waiting. One that has stalled does not.
  const ahead = (ticket: Ticket, name: string, nowMs: number) =>
    (lines.get(name)?.tickets ?? []).filter(
      (other) => other !== ticket && (other.holding || other.number < ticket.number) && other.answerDueMs >= nowMs,
    );

  const isFirst = (ticket: Ticket, names: Iterable<string>) => {
    const nowMs = performance.now();
    return [...names].every((name) => ahead(ticket, name, nowMs).length === 0);
  };

  // When one of those before it has stalled, if none of them leaves.
  function stalledAtMs(ticket: Ticket, nowMs: number): number {
    const tickets = [...ticket.lines].flatMap((name) => ahead(ticket, name, nowMs));
    return Math.min(...tickets.map(({ answerDueMs }) => answerDueMs)) + 1;
  }

  // Whether the request can still be answered, if each charge before it takes as long as the last ones did.
  function isHopeless(ticket: Ticket, testMode: boolean, nowMs: number): boolean {
    let longestMs = 0;
    for (const name of ticket.lines) {
      const line = lines.get(name);
      if (line === undefined) continue;
      const chargeMs = line.chargeMs ?? lately.get(testMode) ?? leastChargeMs;
      const before = ahead(ticket, name, nowMs);
      const doneMs = before.reduce(
        (sum, { chargingSinceMs }) =>
          sum + (chargingSinceMs === undefined ? 0 : Math.min(nowMs - chargingSinceMs, chargeMs)),
        0,
      );
      longestMs = Math.max(longestMs, (before.length + 1) * chargeMs - doneMs);
    }
    return nowMs + Math.max(longestMs, leastChargeMs) > ticket.deadlineMs;
  }

  // Also those at the end: a request that can no longer finish in time is refused at once.
  function wakeOthers({ lines: names }: Ticket): void {
    const others = new Set([...names].flatMap((name) => lines.get(name)?.tickets ?? []));
    for (const other of others) other.wake?.();
  }

  function leave(ticket: Ticket, testMode: boolean): void {
    const nowMs = performance.now();
    const tookMs =
      ticket.chargingSinceMs === undefined ? undefined : Math.min(nowMs - ticket.chargingSinceMs, ticket.longestMs);
    if (tookMs !== undefined) lately.set(testMode, average(lately.get(testMode), tookMs));
    for (const name of ticket.lines) {
      const line = lines.get(name);
      if (line === undefined) continue;
      const at = line.tickets.indexOf(ticket);
      if (at >= 0) line.tickets.splice(at, 1);
      if (line.tickets.length === 0) {
        lines.delete(name);
        continue;
      }
      if (tookMs !== undefined) {
        line.chargeMs = average(line.chargeMs, tookMs);
        line.heldMs += tookMs;
        if (line.heldMs >= unbrokenMs) {
          line.heldMs = 0;
          line.freeAtMs = nowMs + breakMs;
        }
      }
    }
    wakeOthers(ticket);
  }

  const lineOf = (scope: Scope, kind: 'customer' | 'payment_method', id: string) =>
    `${scope.accountId} ${scope.testMode} ${kind} ${id}`;
  return {
    keysInUse: new Map(),
    isBusy: (scope, paymentMethodId) => lines.has(lineOf(scope, 'payment_method', paymentMethodId)),
    enter(scope, paymentMethodId, { answerMs, settleMs }) {
      const { accountId, testMode } = scope;
      const places = ofAccount.get(accountId) ?? 0;
      if (places >= mostOfAccount || waiting >= mostInAll) throw new NotItsTurn();
      issued += 1;
      const nowMs = performance.now();
      const ownMs = answerMs - settleMs;
      const ticket: Ticket = {
        ...{
          number: issued,
          deadlineMs: nowMs + ownMs,
          answerDueMs: nowMs + answerMs,
          longestMs: ownMs / 2,
          lines: new Set(),
        },
        ...{ holding: false, chargingSinceMs: undefined, wake: undefined },
      };
      const joinAll = ({ customerId, paymentMethodId: id }: PaymentParties) => {
        if (customerId !== null) join(ticket, lineOf(scope, 'customer', customerId));
        join(ticket, lineOf(scope, 'payment_method', id));
      };
      if (paymentMethodId !== null) join(ticket, lineOf(scope, 'payment_method', paymentMethodId));
      waiting += 1;
      ofAccount.set(accountId, places + 1);
      let left = false;

      async function untilFirst(): Promise<void> {
        for (;;) {
          const nowMs = performance.now();
          if (isHopeless(ticket, testMode, nowMs)) throw new NotItsTurn();
          if (isFirst(ticket, ticket.lines)) break;
          await woken(ticket, Math.min(ticket.deadlineMs - leastChargeMs, stalledAtMs(ticket, nowMs)) - nowMs);
        }
        const freeAtMs = Math.max(...[...ticket.lines].map((name) => lines.get(name)?.freeAtMs ?? 0), 0);
        const breakLeftMs = freeAtMs - performance.now();
        if (breakLeftMs > 0) await pause(breakLeftMs);
      }

      return {
        deadlineMs: ticket.deadlineMs,
        isNext(wanted) {
          joinAll(wanted);
          return isFirst(ticket, ticket.lines);
        },
        async take(claim, look) {
          for (;;) {
            await untilFirst();
            try {
              ticket.holding = true;
              return await claim();
            } catch (error) {
              ticket.holding = false;
              // Who came before may have waited for it only because it held its place for the try.
              wakeOthers(ticket);
              if (!(error instanceof NotItsTurn) || error.wanted === undefined) throw error;
              joinAll(error.wanted);
              if (isFirst(ticket, ticket.lines)) {
                await untilFree(error.wanted, look, (nowMs) => isHopeless(ticket, testMode, nowMs));
              }
            }
          }
        },
        charge() {
          ticket.chargingSinceMs = performance.now();
        },
        leave() {
          if (left) return;
          left = true;
          waiting -= 1;
          const others = (ofAccount.get(accountId) ?? 1) - 1;
          if (others === 0) ofAccount.delete(accountId);
          else ofAccount.set(accountId, others);
          leave(ticket, testMode);
        },
      };
    },
  };
}

// Another process holds them. Bounded by the request's own time, in which a charge has to fit, and by the look's.
async function untilFree(
  wanted: PaymentParties,
  look: (wanted: PaymentParties) => Promise<boolean>,
  isHopeless: (nowMs: number) => boolean,
): Promise<void> {
  do {
    const pauseMs = lookMs.least + Math.random() * (lookMs.most - lookMs.least);
    if (isHopeless(performance.now() + pauseMs)) throw new NotItsTurn(wanted);
    await pause(pauseMs);
  } while (await look(wanted));
}

// Resolves when somebody before it has left, or after that time.
function woken(ticket: Ticket, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => ticket.wake?.(), Math.max(mostMs, 0));
    ticket.wake = () => {
      clearTimeout(timer);
      ticket.wake = undefined;
      resolve();
    };
  });
}

// The last ones count most: a processor that has become slow shows within two charges.
function average(before: number | undefined, tookMs: number): number {
  const latest = Math.max(tookMs, 1);
  return before === undefined ? latest : (before + latest) / 2;
}
