import { Failure } from '@eligo/failures';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { areRetryDays, type DunningSettings } from '../domain/dunning.ts';
import { findDunning, saveDunning } from '../store/dunning-settings.ts';

/** Sets how an account duns; what is undefined stays. Returns how it then duns. */
export async function changeDunning(
  database: Database,
  scope: Scope,
  change: Partial<DunningSettings>,
): Promise<DunningSettings> {
  if (change.retryDays !== undefined && !areRetryDays(change.retryDays)) {
    throw Failure.invalid(['dunning_days'], 'invalid_value', 'Must be 1 to 10 ascending days, each 1 to 60');
  }
  return withTx(database, scope, async (tx) => {
    const before = await findDunning(tx, scope);
    const after: DunningSettings = {
      retryDays: change.retryDays ?? before.retryDays,
      endsWith: change.endsWith ?? before.endsWith,
    };
    await saveDunning(tx, scope, after);
    return after;
  });
}
