import { LookUpBudget, type LookUpLimits } from './look-up-budget.ts';
import { LookUpRefused, type NameAnswer, type NameLookUp, NameNotResolved } from './look-up-name.ts';
import type { Asker, Resolver } from './resolve.ts';

/** How a resolver works; tests put time and limits of their own in place. */
export interface NameResolverOptions {
  readonly lookUp: NameLookUp;
  readonly now?: () => number;
  readonly limits?: Partial<LookUpLimits>;
}

/** What is known of one name: asked once while the answer is on its way, and not again until `untilMs`. */
interface Known {
  untilMs: number;
  answer: Promise<readonly string[]>;
  /** Failures since the last answer: each is remembered twice as long as the one before. */
  failures: number;
  wasFound: boolean;
}

/** One account's names, the oldest first: an account can neither fill another's memory nor put an answer into it. */
interface AccountNames {
  readonly names: Map<string, Known>;
  readonly budget: LookUpBudget;
}

/**
 * Remembers answers and failures, and gives each account and endpoint a budget of look-ups, so that names that never resolve delay the account
 * that uses them and no other.
 */
export function nameResolver({ lookUp, now = Date.now, limits = {} }: NameResolverOptions): Resolver {
  const accounts = new Map<string, AccountNames>();
  return (host, asker) => {
    const account = accountOf(accounts, asker, { ...defaultLimits, ...limits });
    const known = account.names.get(host);
    if (known !== undefined && now() < known.untilMs) return known.answer;
    const asked: Known = {
      untilMs: Number.POSITIVE_INFINITY,
      failures: known?.failures ?? 0,
      wasFound: known?.wasFound ?? false,
      answer: account.budget
        .run(asker.webhookId, known?.wasFound ?? false, () => lookUp(host))
        .then(
          ({ addresses, ttlMs }: NameAnswer) => {
            Object.assign(asked, { failures: 0, wasFound: true });
            asked.untilMs = now() + Math.min(Math.max(ttlMs, shortestKeptMs), longestKeptMs);
            return addresses;
          },
          (error: unknown) => {
            // The next attempt looks it up again at once.
            if (error instanceof LookUpRefused) {
              asked.untilMs = now();
              throw error;
            }
            asked.failures += 1;
            const keptMs = error instanceof NameNotResolved ? failureKeptMs * 2 ** Math.min(asked.failures - 1, 10) : 0;
            asked.untilMs = now() + Math.min(keptMs, longestKeptMs);
            throw error;
          },
        ),
    };
    remember(account.names, host, asked);
    forgetOldest(account.names, mostNamesOfAccount, ({ untilMs }) => untilMs === Number.POSITIVE_INFINITY);
    return asked.answer;
  };
}

// A receiver that moves is found within a minute, whatever its name servers say. A burst to one host is one question.
const shortestKeptMs = 1_000;
const longestKeptMs = 60_000;
const failureKeptMs = 1_000;
// As many as an account has endpoints, and more than may be pending: those are not forgotten, because they would be asked for anew.
const mostNamesOfAccount = 1_024;
const mostAccounts = 1_000;
// A look-up takes up to 3 s, and an attempt ends after 15 s. More may wait than an account alone has requests in flight, so that no healthy name is refused.
const defaultLimits: LookUpLimits = {
  ...{ atOnce: 16, failuresPerMinute: 60, endpointFailuresPerMinute: 20 },
  ...{ waiting: 512, waitMs: 12_000 },
};

function accountOf(accounts: Map<string, AccountNames>, { accountId }: Asker, limits: LookUpLimits): AccountNames {
  const known = accounts.get(accountId) ?? { names: new Map(), budget: new LookUpBudget(limits) };
  remember(accounts, accountId, known);
  forgetOldest(accounts, mostAccounts, () => false);
  return known;
}

// What was used last is at the end.
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

function forgetOldest<Value>(map: Map<string, Value>, most: number, isNeeded: (value: Value) => boolean): void {
  if (map.size <= most) return;
  for (const [key, value] of map) {
    if (isNeeded(value)) continue;
    map.delete(key);
    return;
  }
}
