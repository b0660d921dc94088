import { type Bench, poolSize } from '../bench.ts';
import type { WriteOperation } from '../costs/write-operations.ts';
import type { Runs } from '../processes/replay.ts';
import { quiet, wakeRelays } from '../quiet.ts';
import { partsFor, sessionParts } from '../recording/session-parts.ts';
import { type Compared, compare, type Round } from '../rounds.ts';

/** A write, how its rounds are prepared, and how it is seen that a replay did the same. */
export interface Write {
  readonly operation: WriteOperation;
  /** What a round works on: for each connection the sessions that it needs, or nothing where it makes its own. */
  prepare(perConnection: number): Promise<string[][]>;
  ours(sessions: readonly (readonly string[])[]): Promise<Round>;
  /** A count over all that the replay worked on; it must grow by one with each run. */
  readonly counted: string;
}

/** Compares a write with what Postgres and the driver take for its transactions alone. */
export async function againstLimit(bench: Bench, write: Write): Promise<Compared> {
  const { sizes, stack, postgres } = bench;
  const recording = bench.recordings()[write.operation];
  const replay = await bench.startReplay();
  const { transactions } = recording;
  await replay.ask('open', { databaseUrls: stack.roleUrls, poolSize, transactions });
  const perConnection = Math.ceil(sizes.perRound / sizes.connections);
  const count = async () => Number((await postgres.query<{ count: string }>(write.counted)).rows[0]?.count);
  return compare(
    {
      async round() {
        const sessions = await write.prepare(perConnection);
        await quiet(postgres);
        return write.ours(sessions);
      },
    },
    {
      async round() {
        const runs = await runsFor(bench, recording.known, await write.prepare(perConnection), perConnection);
        await quiet(postgres);
        const before = await count();
        // The limit has the machine to itself: what the stack does in the background is its own cost.
        const round = await bench.frozen(() => replay.ask('run', runs));
        await wakeRelays(postgres);
        const done = (await count()) - before;
        if (done !== sizes.connections * perConnection) throw new Error(`a replay of ${write.operation} did ${done}`);
        return round;
      },
    },
    { rounds: sizes.rounds, warmUp: sizes.warmUp.writes },
  );
}

async function runsFor(
  { postgres, sizes }: Bench,
  known: readonly string[],
  sessions: readonly (readonly string[])[],
  perConnection: number,
): Promise<Runs> {
  if (sessions.length === 0) {
    const same = partsFor(known, known);
    return Array.from({ length: sizes.connections }, () => Array.from({ length: perConnection }, () => same));
  }
  const parts = await sessionParts(postgres, sessions.flat());
  return sessions.map((ids) => ids.map((id) => partsFor(known, parts.get(id) ?? [])));
}
