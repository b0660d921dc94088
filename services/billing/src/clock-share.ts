import type { Scope } from '@eligo/postgres';
import { nameOf, type ProcessTurns, type TurnCaller } from '@eligo/service';

/** What accounts take of this process for what their test clocks have made due. */
export interface ClockShare {
  /** Does such work of an account, whose time counts. */
  run<Done>(scope: Scope, work: () => Promise<Done>): Promise<Done>;
  /** Whether the account may begin no such work now: it took more than its share, or is at it, while other accounts are short of time. */
  mustWait(scope: Scope): boolean;
  /** Whether the account took more than its share: the work that it is at ends with the step at hand. */
  isSpent(scope: Scope): boolean;
  /** How many steps the work takes at once. */
  stepsAtOnce(scope: Scope): number;
}

/**
 * Test clocks have a budget of their own beside what the account's keys ask for: a tenth of the time in which the process works, while other accounts are short of it. One request can
 * make years of renewals due, which a job goes on with after the request.
 */
export function clockShare({ neighbors, budgets, meter }: ProcessTurns): ClockShare {
  const atWork = new Map<string, number>();
  const isSpent = (scope: Scope) => budgets.isSpent(callerOf(scope));
  return {
    isSpent,
    mustWait: (scope) => neighbors.areShort(scope.accountId) && (atWork.has(nameOf(callerOf(scope))) || isSpent(scope)),
    stepsAtOnce: ({ accountId }) => (neighbors.areShort(accountId) ? 1 : stepsAtOnce),
    async run(scope, work) {
      const caller = callerOf(scope);
      const name = nameOf(caller);
      atWork.set(name, (atWork.get(name) ?? 0) + 1);
      // A process may get no requests of the account meanwhile.
      neighbors.saw(caller);
      try {
        // The meter measures continuations: without one of its own, the work would count as the request's that led to it.
        return await meter.run({ caller, isExpensive: true, wholeFor: 'budgets' }, async () => {
          await Promise.resolve();
          return work();
        });
      } finally {
        const others = (atWork.get(name) ?? 1) - 1;
        if (others === 0) atWork.delete(name);
        else atWork.set(name, others);
      }
    },
  };
}

const stepsAtOnce = 8;

function callerOf({ accountId, testMode }: Scope): TurnCaller {
  return { accountId, testMode, of: 'clocks' };
}
