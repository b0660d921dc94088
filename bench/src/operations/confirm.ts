import { type Bench, placeOf } from '../bench.ts';
import type { Compared } from '../rounds.ts';
import { againstLimit } from './against-limit.ts';
import { confirmSessions, openSessions } from './sessions.ts';

/** Confirms sessions with a health card; the processor answers at once. */
export async function confirm(bench: Bench): Promise<Compared> {
  const place = await placeOf(bench);
  return againstLimit(bench, {
    operation: 'confirm',
    prepare: (perConnection) => openSessions(place, perConnection),
    ours: (sessions) => confirmSessions(place, sessions),
    counted: `select count(*) from checkout.sessions where status = 'complete'`,
  });
}
