import { type Cents, cents, type ProcessorAccount } from '@eligo/values';

/** What the postings of a day add to an account of the ledger; debits are positive. */
export interface DayTotal {
  readonly processorAccount: ProcessorAccount;
  readonly ledgerAccount: string;
  readonly amountCents: Cents;
}

/** The transactions of a day with one cause and type. */
export interface DayActivity {
  readonly cause: 'journal' | 'balance';
  readonly processorAccount: ProcessorAccount;
  readonly type: string;
  readonly reportingCategory: string;
  readonly transactions: number;
  readonly amountCents: Cents;
  readonly feeCents: Cents;
  readonly netCents: Cents;
}

/** An account of the ledger over a day. */
export interface AccountOfDay {
  readonly processorAccount: ProcessorAccount;
  readonly ledgerAccount: string;
  readonly openingCents: Cents;
  readonly changeCents: Cents;
  readonly closingCents: Cents;
}

/** A day of the report: the balance at the processor, and each account of the ledger that ever had a posting. */
export interface BalancesOfDay {
  readonly openingCents: Cents;
  readonly closingCents: Cents;
  readonly accounts: readonly AccountOfDay[];
}

/** A movement on the balance that the report names by itself. */
export interface NamedMovement {
  readonly processor: string;
  readonly processorAccount: string;
  readonly processorTransactionId: string;
  readonly balanceTransactionId: string;
  readonly type: string;
  readonly payoutId: string | null;
  readonly payoutStatus: string | null;
  readonly amountCents: Cents;
  readonly feeCents: Cents;
  readonly netCents: Cents;
  readonly suspenseCents: Cents;
  readonly createdAt: Date;
}

/** Carries balances from day to day, so that each day opens with what the day before closed with. */
export class RunningBalances {
  readonly #accounts = new Map<string, DayTotal>();

  /** Begins with what was posted before the first day. */
  constructor(opening: readonly DayTotal[]) {
    for (const total of opening) this.#accounts.set(keyOf(total), total);
  }

  /** The balances of the next day, with what its postings add. */
  next(totals: readonly DayTotal[]): BalancesOfDay {
    const changes = new Map(totals.map((total) => [keyOf(total), total]));
    for (const [key, total] of changes) {
      if (!this.#accounts.has(key)) this.#accounts.set(key, { ...total, amountCents: cents(0) });
    }
    const accounts = [...this.#accounts.keys()].sort().flatMap((key): AccountOfDay[] => {
      const before = this.#accounts.get(key);
      if (before === undefined) return [];
      const { processorAccount, ledgerAccount, amountCents: openingCents } = before;
      const changeCents = changes.get(key)?.amountCents ?? cents(0);
      const closingCents = cents(openingCents + changeCents);
      this.#accounts.set(key, { ...before, amountCents: closingCents });
      return [{ processorAccount, ledgerAccount, openingCents, changeCents, closingCents }];
    });
    const atProcessor = accounts.filter(({ ledgerAccount }) => ledgerAccount === 'processor_balance');
    return {
      accounts,
      openingCents: cents(atProcessor.reduce((sum, { openingCents }) => sum + openingCents, 0)),
      closingCents: cents(atProcessor.reduce((sum, { closingCents }) => sum + closingCents, 0)),
    };
  }
}

/** The days from one to another, both included, as `2026-11-22`. */
export function* daysBetween(from: string, to: string): Generator<string> {
  const end = Date.parse(to);
  for (let day = Date.parse(from); day <= end; day += dayMs) yield new Date(day).toISOString().slice(0, 10);
}

const dayMs = 86_400_000;

function keyOf({ processorAccount: { processor, account }, ledgerAccount }: DayTotal): string {
  return `${processor} ${account} ${ledgerAccount}`;
}
