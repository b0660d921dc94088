import { seedRecords } from '@eligo/gateway/probes';
import { sharedBy } from './attack.ts';
import type { AttackingAccount } from './attacking-account.ts';

/** A record of every kind. */
export const seededRecords = sharedBy(({ eligo, unlimited }: AttackingAccount) =>
  seedRecords(eligo.url, unlimited.key, { receipts: true }),
);
