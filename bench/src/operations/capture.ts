import { type Bench, placeOf } from '../bench.ts';
import type { Compared } from '../rounds.ts';
import { againstConfirm } from './against-confirm.ts';
import { captureSessions, heldSessions } from './sessions.ts';

/** Captures sessions that one card holds, against confirms, which charge one card. */
export async function capture(bench: Bench): Promise<Compared> {
  const place = await placeOf(bench);
  return againstConfirm(bench, {
    prepare: (perConnection) => heldSessions(place, perConnection),
    run: (sessions) => captureSessions(place, sessions),
  });
}
