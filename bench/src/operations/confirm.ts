import { type Bench, loadEach } from '../bench.ts';
import type { Compared } from '../rounds.ts';
import { againstLimit } from './against-limit.ts';
import { confirmTexts, openSessions } from './sessions.ts';

/** Confirms sessions with a health card; the processor answers at once. */
export function confirm(bench: Bench): Promise<Compared> {
  return againstLimit(bench, {
    operation: 'confirm',
    prepare: (perConnection) => openSessions(bench, perConnection),
    ours: async (sessions) => loadEach(bench, await confirmTexts(bench, sessions)),
    counted: `select count(*) from checkout.sessions where status = 'complete'`,
  });
}
