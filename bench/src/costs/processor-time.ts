import { readdirSync, readFileSync } from 'node:fs';
import { processorMsOf, unlessGone } from '@eligo/e2e';

/** Milliseconds of processor time that each named group of processes has used so far. */
export type ProcessorTime = Readonly<Record<string, number>>;

/** The top of each group: its descendants belong to it, but for those that are the top of another. */
export type GroupTops = ReadonlyMap<number, string>;

/** What `stat` counts processor time in: a hundredth of a second, whatever the clock of the kernel. */
const tickMs = 10;

/**
 * Reads what every process below the tops has used, children that have ended included: their parent has taken over their time when it waited for
 * them. `without` names processes that are not counted, such as the backend that the bench itself uses. Linux only.
 */
export function processorTime(tops: GroupTops, without: ReadonlySet<number> = new Set()): ProcessorTime {
  const used: Record<string, number> = Object.fromEntries([...tops.values()].map((name) => [name, 0]));
  for (const [pid, name] of groupsOf(tops)) {
    if (!without.has(pid)) used[name] = (used[name] ?? 0) + usedMs(pid);
  }
  return used;
}

/** Each living process below the tops and the group that it belongs to. */
export function groupsOf(tops: GroupTops): Map<number, string> {
  const children = new Map<number, number[]>();
  for (const pid of namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)) {
    const parent = statOf(pid)?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
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

function usedMs(pid: number): number {
  const stat = statOf(pid);
  return stat === undefined ? 0 : (processorMsOf(pid) ?? stat.ownMs) + stat.childrenMs;
}

function statOf(pid: number) {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command stands in parentheses and may hold spaces: what counts comes after the last of them.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (at: number) => Number(fields[at] ?? 0) * tickMs;
  return { parent: Number(fields[1]), ownMs: ms(11) + ms(12), childrenMs: ms(13) + ms(14) };
}

function namesIn(folder: string): string[] {
  return unlessGone(() => readdirSync(folder)) ?? [];
}

function textOf(path: string): string | undefined {
  return unlessGone(() => readFileSync(path, 'utf8'));
}
