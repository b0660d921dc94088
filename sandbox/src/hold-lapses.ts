import { lapseHold } from './api/hold-lapse.ts';
import type { Call } from './api/route.ts';
import { repeat } from './repeat.ts';
import type { Write } from './store/group-commit.ts';
import type { Holds } from './store/holds.ts';
import type { Records } from './store/records.ts';

export interface HoldLapseParts {
  readonly holds: Holds;
  readonly records: Records;
  readonly write: Write;
  readonly clockMs: () => number;
  /** A call of the issuer on an account. */
  readonly openCall: (account: string) => { call: Call; settle: () => void };
}

const everyMs = 1_000;
// In one write, so that the calls of others wait for some milliseconds at most.
const mostAtOnce = 200;

/** Lapses the holds whose time is over, until none is left. */
export async function lapseHolds(parts: HoldLapseParts): Promise<void> {
  for (;;) {
    const due = parts.holds.lapsed(parts.clockMs(), mostAtOnce);
    if (due.length === 0) return;
    const settles = await parts.write(() =>
      due.map(({ account, intent: id }) => {
        const { call, settle } = parts.openCall(account);
        const intent = parts.records.find('payment_intent', account, id);
        if (intent === undefined) parts.holds.remove(id);
        else lapseHold(call, intent);
        return settle;
      }),
    );
    for (const settle of settles) settle();
  }
}

/** Lapses holds from now on. Returns a function that ends it. */
export function startHoldLapses(parts: HoldLapseParts, onBug: (error: unknown) => void): () => void {
  return repeat(everyMs, () => lapseHolds(parts), onBug);
}
