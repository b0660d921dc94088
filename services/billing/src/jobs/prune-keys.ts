import { pruneKeys } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';

const batch = 1_000;

/** Deletes idempotency keys after 30 days. */
export function pruneOldKeys({ database }: Context): Job {
  return {
    name: 'prune-keys',
    everyMs: 600_000,
    run: async () => (await pruneKeys(database, batch)) >= batch,
  };
}
