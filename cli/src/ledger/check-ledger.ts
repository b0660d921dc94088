import { readFileSync } from 'node:fs';
import { type Db, unscoped } from '@eligo/postgres';
import type { Fault } from './check-books.ts';

/**
 * Compares the ledger with the journals of checkout and refunds, with the movements that the processors listed, and with balance transactions and disputes, to
 * the cent. At most 1,000 faults, the wrong ones first. The caller's role is not bound by row-level security.
 */
export async function checkLedger(db: Db): Promise<Fault[]> {
  return db.rows(ledger, null);
}

const ledger = unscoped<Fault>('ledger.check', readFileSync(new URL('ledger.sql', import.meta.url), 'utf8'));
