import { type Json, records } from '../records.ts';
import type { RunningShop } from './running-shop.ts';

/** The charges that the sandbox took money by for a session. */
export async function chargesOf({ eligo }: Pick<RunningShop, 'eligo'>, sessionId: string): Promise<Json[]> {
  const all = records(await eligo.sandbox('GET', '/sandbox/charges'), 'data');
  return all.filter((charge) => (charge.metadata as Json).session === sessionId && charge.amount_captured !== 0);
}
