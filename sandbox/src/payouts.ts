import { arrive, payOut } from './api/payouts.ts';
import type { Call } from './api/route.ts';
import { repeat } from './repeat.ts';
import type { Balances } from './store/balances.ts';
import type { Write } from './store/group-commit.ts';

export interface PayoutParts {
  readonly balances: Balances;
  readonly write: Write;
  readonly clockMs: () => number;
  /** A call of the processor itself on an account. */
  readonly openCall: (account: string) => { call: Call; settle: () => void };
}

const everyMs = 60_000;
const accountsAtOnce = 20;
const arrivalsAtOnce = 200;

/** Makes the payouts whose day has come, and lets those arrive that are on their way, until none is left. */
export async function makePayouts(parts: PayoutParts): Promise<void> {
  for (;;) {
    const arrivals = parts.balances.arrived(parts.clockMs(), arrivalsAtOnce);
    const accounts = parts.balances.due(parts.clockMs(), accountsAtOnce);
    if (arrivals.length + accounts.length === 0) return;
    const settles = await parts.write(() => [
      ...arrivals.map(({ id, account }) => act(parts, account, (call) => arrive(call, id))),
      ...accounts.map((account) => act(parts, account, (call) => payOut(call, call.clockMs))),
    ]);
    for (const settle of settles) settle();
  }
}

function act(parts: PayoutParts, account: string, work: (call: Call) => unknown): () => void {
  const { call, settle } = parts.openCall(account);
  work(call);
  return settle;
}

/** Makes payouts from now on. Returns a function that ends it. */
export function startPayouts(parts: PayoutParts, onBug: (error: unknown) => void): () => void {
  return repeat(everyMs, () => makePayouts(parts), onBug);
}
