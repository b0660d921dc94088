import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Payout } from '../domain/payout.ts';
import { wakeFeeds } from '../store/ledger-feeds.ts';
import { findPayout } from '../store/payout-list.ts';
import { keyOfPayout, recordPayouts, savePayout } from '../store/payouts.ts';

/** Lets the sandbox pay out all that an account has, and answers the payout as it is then recorded. Test mode only. */
export async function createTestPayout(
  { database, processors }: Pick<Context, 'database' | 'processors'>,
  scope: Scope,
): Promise<Payout> {
  if (!scope.testMode) throw new Failure('test_mode_required');
  const { testBank, account: processorAccount } = processors.of(scope);
  if (testBank === undefined) throw new Failure('test_mode_required');
  const made = await testBank.payOut();
  if (made.kind === 'rejected') throw new Failure('conflict');
  if (made.kind !== 'found') throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  const named = { processorAccount, processorPayoutId: made.payoutId };
  const payoutId = await withTx(database, scope, async (tx) => {
    const found = { ...named, amountCents: made.amountCents, at: made.createdAt };
    const id = (await recordPayouts(tx, scope, [found])).get(keyOfPayout(named)) ?? '';
    await savePayout(tx, scope, id, made);
    await wakeFeeds(tx, scope, [{ processorAccount, since: made.createdAt }]);
    return id;
  });
  const recorded = await findPayout(database, scope, payoutId);
  if (recorded === undefined) throw new Failure('internal');
  return recorded;
}
