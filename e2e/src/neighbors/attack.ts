import type { AttackingAccount } from './attacking-account.ts';
import type { AttackReport } from './flood.ts';

/** One way in which an account can hurt others within its limits. */
export interface Attack {
  readonly name: string;
  /** It needs an account of its own: an account has a bounded number of endpoints. */
  readonly isAlone?: boolean;
  /** Others' reads and deliveries are measured beside their confirms. */
  readonly isWatched?: boolean;
  /** Makes what the attack needs, before anything is measured. Answers what attacks until it is told to stop. */
  prepare(account: AttackingAccount): Promise<(signal: AbortSignal) => Promise<AttackReport>>;
}

/** What several attacks of an account need, made once. */
export function sharedBy<Made>(
  make: (account: AttackingAccount) => Promise<Made>,
): (account: AttackingAccount) => Promise<Made> {
  const made = new WeakMap<AttackingAccount, Promise<Made>>();
  return (account) => {
    const known = made.get(account) ?? make(account);
    made.set(account, known);
    return known;
  };
}
