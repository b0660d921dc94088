import type { GrowthRow } from './row.ts';

/** Why an operation may cost more on its large side, and how much more for each identifier that its answer lists there beyond the small side's. */
export interface GrowthException {
  readonly reason: string;
  /** The most that one more identifier may cost. */
  readonly perId: { readonly blocks: number; readonly rows: number; readonly ms: number };
}

/** By the names of their rows. */
export const growthExceptions: Readonly<Record<string, GrowthException>> = {
  'one session with many refunds: checkout_sessions.get': {
    reason:
      'the answer lists the identifiers of all refunds of the session, at most 1,000 (decisions 14.353): its cost grows with its own length',
    // They stand in the session's one row: 26 bytes each, so 300 in a block of 8 kB, which is found by two more of an index. Reading one and writing it to the
    // answer took a microsecond and a half.
    perId: { blocks: 0.02, rows: 0, ms: 0.003 },
  },
};

/** Whether an exception allows a row to be past its goal: it has one, and each identifier beyond those of the small side costs no more than that allows. */
export function isExcepted({ name, part, small, large, lists, reads }: GrowthRow): boolean {
  const exception = growthExceptions[name];
  if (exception === undefined || lists === undefined) return false;
  const [few, many] = lists;
  const more = many - few;
  const { perId } = exception;
  if (large - small > perId.ms * more) return false;
  // Only Postgres' part counts what is read, and without that nothing justifies it.
  if (part !== 'Postgres') return true;
  const isAllowed = ([before, after]: readonly [number, number], each: number) =>
    after - before <= each * more + rounding;
  return reads !== undefined && isAllowed(reads.blocks, perId.blocks) && isAllowed(reads.rows, perId.rows);
}

// Of averages over some hundred operations, among which a job may have run.
const rounding = 0.05;
