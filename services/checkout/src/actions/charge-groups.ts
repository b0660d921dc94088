import { appendEncoded } from '@eligo/events';
import { openGroupedWrites, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ChargeGroups, Context, InvoiceSettlement, SettlementWrite } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { ChargeFailpoint } from '../failpoints.ts';
import { type AttemptToSend, fenceAttempts } from '../store/charge-attempts.ts';
import { settleConfirmed } from '../store/settle-confirmed.ts';
import { settleInvoiceCharges } from '../store/settle-invoice-charges.ts';
import type { Claimed, GroupedClaim } from './charge-claim.ts';
import { type Claiming, claimCharge } from './claim-charge.ts';
import { claimCharges } from './claim-charges.ts';
import { claimInvoiceCharges, type InvoiceClaim, type InvoiceClaimed } from './claim-invoice-charges.ts';
import type { GroupedReservation, ReservedRefund } from './planned-reservation.ts';
import { appendRedemptionsEnd } from './redemptions-end.ts';
import { reserveRefundAlone } from './reserve-refund.ts';
import { reserveRefunds } from './reserve-refunds.ts';

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
      gathers: true,
    }),
    invoiceFences: openGroupedWrites<AttemptToSend, ChargeAttempt | undefined>({
      database,
      writeGroup: fenceAttempts,
      gathers: true,
    }),
    invoiceSettlements: openGroupedWrites<InvoiceSettlement, boolean>({
      database,
      async writeGroup(tx, scope, settlements) {
        const events = settlements.flatMap((settlement) => settlement.events);
        const [areWritten] = await Promise.all([
          settleInvoiceCharges(tx, scope, settlements),
          appendEncoded(tx, events),
        ]);
        await failpoint('charge.before_settle_commit');
        return areWritten ? settlements.map(() => true) : undefined;
      },
      // The caller settles it from its rows.
      writeAlone: async () => false,
      gathers: true,
    }),
    fences: openGroupedWrites<AttemptToSend, ChargeAttempt | undefined>({ database, writeGroup: fenceAttempts }),
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
    reservations: openGroupedWrites<GroupedReservation, ReservedRefund>({
      database,
      writeGroup: (tx, scope, reservations) => reserveRefunds(context, tx, scope, reservations),
      writeAlone: (scope, { reservation }) => reserveRefundAlone(context, scope, reservation),
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
