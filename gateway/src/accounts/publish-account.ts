import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Tx } from '@eligo/postgres';
import { AccountUpdatedSchema } from '@eligo/proto/events/v1/events';
import type { AccountRow } from './account-row.ts';

/** Tells the services that act on time of an account's settings, in both modes: each has subjects of its own. */
export async function publishAccount(tx: Tx, account: AccountRow): Promise<void> {
  const value = create(AccountUpdatedSchema, {
    accountId: account.account_id,
    features: account.features,
    dunningEnd: account.dunning_end,
    version: account.version,
  });
  for (const testMode of [false, true]) {
    await append(tx, {
      type: 'account.updated',
      aggregateId: account.account_id,
      accountId: account.account_id,
      testMode,
      object: { case: 'accountUpdated', value },
    });
  }
}
