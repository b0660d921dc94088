import { type Bench, placeOf } from '../bench.ts';
import { loadEach } from '../load-each.ts';
import type { Compared } from '../rounds.ts';
import { againstLimit } from './against-limit.ts';
import { createTexts } from './sessions.ts';

/** Creates sessions of three lines. */
export async function createSession(bench: Bench): Promise<Compared> {
  const place = await placeOf(bench);
  const { perRound, connections } = bench.sizes;
  const texts = createTexts(place, Math.ceil(perRound / connections));
  return againstLimit(bench, {
    operation: 'create-session',
    prepare: async () => [],
    ours: () => loadEach(place, texts),
    counted: 'select count(*) from checkout.sessions',
  });
}
