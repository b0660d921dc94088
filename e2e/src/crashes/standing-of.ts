import { type Json, record, records } from '../records.ts';
import type { RunningShop } from './running-shop.ts';

/** How a session stands at Eligo and at the processor, on one line: its status, what it received, what of each card was taken, and what is still held. */
export async function standingOf({ api, eligo }: RunningShop, sessionId: string): Promise<string> {
  const session = record(await api.ok('GET', `/v1/checkout/sessions/${sessionId}`), 'checkout_session');
  const all = records(await eligo.sandbox('GET', '/sandbox/charges'), 'data');
  const approved = all.filter(
    (charge) => (charge.metadata as Json).session === sessionId && charge.status === 'succeeded',
  );
  const taken = approved.map((charge) => Number(charge.amount_captured)).filter((amount) => amount > 0);
  const held = approved
    .filter((charge) => charge.released !== true)
    .map((charge) => Number(charge.amount) - Number(charge.amount_captured))
    .filter((amount) => amount > 0);
  return lineOf({ status: String(session.status), received: Number(session.amount_received), taken, held });
}

export interface Standing {
  readonly status: string;
  readonly received: number;
  readonly taken: readonly number[];
  readonly held?: readonly number[];
}

/** How an open session stands that has taken nothing and holds nothing. */
export const unpaid: Standing = { status: 'open', received: 0, taken: [] };

/** The line of a model. */
export function lineOf({ status, received, taken, held = [] }: Standing): string {
  const sum = (amounts: readonly number[]) => amounts.toSorted((one, other) => one - other).join(' + ') || 'nothing';
  return `${status}, received ${received}, taken ${sum(taken)}, held ${sum(held)}`;
}

/** Throws unless a session stands as one of these. */
export async function expectStanding(
  running: RunningShop,
  sessionId: string,
  possible: readonly Standing[],
): Promise<void> {
  const seen = await standingOf(running, sessionId);
  const allowed = possible.map(lineOf);
  if (!allowed.includes(seen)) throw new Error(`${sessionId} is ${seen}; the model allows ${allowed.join(' or ')}`);
}
