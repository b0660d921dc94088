import { appendEncoded } from '@eligo/events';
import { openGroupedWrites, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ChargeFailpoint, ChargeGroups, Charging, SettlementWrite } from '../charging.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { type AttemptToSend, fenceAttempts } from '../store/charge-attempts.ts';
import { settleConfirmed } from '../store/settle-confirmed.ts';
import type { Claimed, GroupedClaim } from './charge-claim.ts';
import { type Claiming, claimCharge } from './claim-charge.ts';
import { claimCharges } from './claim-charges.ts';
import { appendRedemptionsEnd } from './redemptions-end.ts';

/** Opens the groups of one process. */
export function openChargeGroups(charging: Claiming & Pick<Charging, 'database'>): ChargeGroups {
  const { database, failpoint, budgets } = charging;
  return {
    claims: openGroupedWrites<GroupedClaim, Claimed>({
      database,
      writeGroup: (tx, scope, claims) => claimCharges(charging, tx, scope, claims),
      writeAlone: (scope, claim) =>
        withTx(database, scope, (tx) => claimCharge(charging, tx, scope, claim), { lockTimeoutMs: budgets.lockMs }),
    }),
    fences: openGroupedWrites<AttemptToSend, ChargeAttempt | undefined>({
      database,
      writeGroup: fenceAttempts,
      async writeAlone(scope, send) {
        const [attempt] = await withTx(database, scope, (tx) => fenceAttempts(tx, scope, [send]));
        return attempt;
      },
    }),
    settlements: openGroupedWrites<SettlementWrite, boolean>({
      database,
      async writeGroup(tx, scope, settlements) {
        const areWritten = await writeSettlements(tx, scope, settlements, failpoint);
        return areWritten ? settlements.map(() => true) : undefined;
      },
      async writeAlone(scope, settlement) {
        try {
          return await withTx(database, scope, async (tx) => {
            if (await writeSettlements(tx, scope, [settlement], failpoint)) return true;
            throw new ChangedSinceClaim();
          });
        } catch (error) {
          if (error instanceof ChangedSinceClaim) return false;
          throw error;
        }
      },
    }),
  };
}

/** Rolls the transaction back: what it wrote was based on a record that is out of date. */
class ChangedSinceClaim extends Error {}

async function writeSettlements(
  tx: Tx,
  scope: Scope,
  settlements: readonly SettlementWrite[],
  failpoint: (name: ChargeFailpoint) => Promise<void> | undefined,
): Promise<boolean> {
  const completed = settlements.flatMap(({ after }) => (after.status === 'complete' ? [after] : []));
  const [areWritten] = await Promise.all([
    settleConfirmed(tx, scope, settlements),
    appendEncoded(
      tx,
      settlements.flatMap(({ events }) => events),
    ),
    ...completed.map((session) => appendRedemptionsEnd(tx, scope, session, 'finalize')),
  ]);
  await failpoint('charge.before_settle_commit');
  return areWritten;
}
