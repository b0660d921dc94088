import { type Bench, placeOf } from '../bench.ts';
import { quiet } from '../quiet.ts';
import { type Compared, compare, type Round } from '../rounds.ts';
import { captureSessions, confirmSessions, heldSessions, openSessions } from './sessions.ts';

/** Captures sessions that one card holds, against confirms, which charge one card. */
export async function capture(bench: Bench): Promise<Compared> {
  const { sizes, postgres } = bench;
  const place = await placeOf(bench);
  const perConnection = Math.ceil(sizes.perRound / sizes.connections);
  const side = (prepare: typeof heldSessions, run: typeof captureSessions) => ({
    async round(): Promise<Round> {
      const sessions = await prepare(place, perConnection);
      await quiet(postgres);
      return run(place, sessions);
    },
  });
  return compare(side(heldSessions, captureSessions), side(openSessions, confirmSessions), {
    rounds: sizes.rounds,
    warmUp: sizes.warmUp.writes,
  });
}
