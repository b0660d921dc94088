import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { ProcessTurns, TurnCaller } from '@eligo/service';
import type { DeliveryShare } from '../../context.ts';
import { mostPlanned } from '../../domain/delivery.ts';
import { scopeKey } from './lanes.ts';

/**
 * Deliveries have a budget of their own beside what the account's keys and pages ask for: a tenth of the time in which the process works, while other accounts are short of it. An account with a thousand
 * endpoints can cause more deliveries by each of its requests than a process sends in a tenth of a second.
 */
export function deliveryShare({ neighbors, budgets, meter }: ProcessTurns): DeliveryShare {
  const planning = new Set<string>();
  const run = <Done>(scope: Scope, work: () => Promise<Done>): Promise<Done> => {
    const caller = callerOf(scope);
    // A process may serve accounts that ask it for nothing else.
    neighbors.saw(caller);
    // The meter measures continuations: without one of its own, the work would count as the account's whose work led to it.
    return meter.run({ caller, isExpensive: true }, async () => {
      await Promise.resolve();
      return work();
    });
  };
  const isSpent = (scope: Scope) => budgets.isSpent(callerOf(scope));
  return {
    run,
    isSpent,
    mostPlanned: ({ accountId }) => (neighbors.areShort(accountId) ? mostPlannedWhenShort : mostPlanned),
    async planMany(scope, plan) {
      const key = scopeKey(scope);
      const isOne = !planning.has(key);
      if (isSpent(scope) || (!isOne && neighbors.areShort(scope.accountId))) {
        throw new Failure('rate_limited', { retryAfterSeconds: 1 });
      }
      planning.add(key);
      try {
        await run(scope, plan);
      } finally {
        if (isOne) planning.delete(key);
      }
    },
  };
}

function callerOf({ accountId, testMode }: Scope): TurnCaller {
  return { accountId, testMode, of: 'deliveries' };
}

// What is planned is sent at once: about as long as the budget holds.
const mostPlannedWhenShort = 128;
