import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds of processor time that each named group of processes has used so far. */
export type ProcessorTime = Readonly<Record<string, number>>;

/** The top of each group: its descendants belong to it, but for those that are the top of another. */
export type GroupTops = ReadonlyMap<number, string>;

/** What Linux counts processor time in: a hundredth of a second, whatever the clock of the kernel. */
const tickMs = 10;

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly usedMs: number;
}

/**
 * Reads what every process below the tops has used, children that have ended included: their parent has taken over their time when it waited for
 * them. `without` names processes that are not counted, such as the backend that the bench itself uses. Linux only.
 */
export function processorTime(tops: GroupTops, without: ReadonlySet<number> = new Set()): ProcessorTime {
  const used: Record<string, number> = Object.fromEntries([...tops.values()].map((name) => [name, 0]));
  for (const [pid, name] of groupsOf(tops)) {
    const seen = without.has(pid) ? undefined : look(pid);
    if (seen !== undefined) used[name] = (used[name] ?? 0) + seen.usedMs;
  }
  return used;
}

/** Each living process below the tops and the group that it belongs to. */
export function groupsOf(tops: GroupTops): Map<number, string> {
  const children = new Map<number, number[]>();
  for (const { pid, parent } of everyProcess()) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found = new Map<number, string>();
  const take = (pid: number, name: string) => {
    found.set(pid, name);
    for (const child of children.get(pid) ?? []) if (!tops.has(child)) take(child, name);
  };
  for (const [pid, name] of tops) take(pid, name);
  return found;
}

/** What each group used between two readings. */
export function usedBetween(before: ProcessorTime, after: ProcessorTime): ProcessorTime {
  return Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, ms - (before[name] ?? 0)]));
}

function everyProcess(): Seen[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => look(Number(name)) ?? []);
}

function look(pid: number): Seen | undefined {
  const stat = statOf(pid);
  if (stat === undefined) return undefined;
  // The command stands in parentheses and may hold spaces: what counts comes after the last of them.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [parent, ...ticks] = [fields[1], ...fields.slice(11, 15)].map(Number);
  return { pid, parent: parent ?? 0, usedMs: ticks.reduce((sum, one) => sum + one, 0) * tickMs };
}

function statOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    // It has ended since it was listed.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return undefined;
    throw error;
  }
}
