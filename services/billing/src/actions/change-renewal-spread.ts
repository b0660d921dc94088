import { Failure } from '@eligo/failures';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { saveRenewalSpread } from '../store/renewal-settings.ts';

/** Sets within how many minutes after the beginning of a period an account's renewals are charged; 0: as soon as they are due. */
export async function changeRenewalSpread(database: Database, scope: Scope, minutes: number): Promise<void> {
  if (!Number.isInteger(minutes) || minutes < 0 || minutes > 60) {
    throw Failure.invalid(['renewal_spread'], 'invalid_value', 'Must be 0 to 60 minutes');
  }
  await withTx(database, scope, (tx) => saveRenewalSpread(tx, scope, minutes));
}
