import { figures } from '../figures.ts';
import type { Compared } from '../rounds.ts';
import type { StackProcess } from '../stack-process.ts';

/** From the start of the process to ready, on kept data. */
export function startTime({ readyMs, topology }: StackProcess): Compared {
  const seconds = readyMs / 1_000;
  return { ratio: seconds, ours: seconds, theirs: figures.start.goals[topology] };
}
