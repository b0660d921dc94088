import { type Bench, placeOf } from '../bench.ts';
import { quiet } from '../quiet.ts';
import { type Compared, compare, type Side } from '../rounds.ts';
import { confirmSessions, openSessions } from './sessions.ts';

/** Measures rounds of an operation, each prepared for, against as many confirms, which charge one card each. */
export async function againstConfirm(
  bench: Bench,
  ours: {
    prepare(perConnection: number): Promise<string[][]>;
    run(prepared: string[][]): ReturnType<typeof confirmSessions>;
  },
): Promise<Compared> {
  const { sizes, postgres } = bench;
  const place = await placeOf(bench);
  const perConnection = Math.ceil(sizes.perRound / sizes.connections);
  const side = ({ prepare, run }: typeof ours): Side => ({
    async round() {
      const prepared = await prepare(perConnection);
      await quiet(postgres);
      return run(prepared);
    },
  });
  const confirms = side({
    prepare: (count) => openSessions(place, count),
    run: (sessions) => confirmSessions(place, sessions),
  });
  return compare(side(ours), confirms, { rounds: sizes.rounds, warmUp: sizes.warmUp.writes });
}
