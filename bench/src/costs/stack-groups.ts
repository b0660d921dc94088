import type { StackFile } from '@eligo/stack';
import type { GroupTops, ProcessorTime } from './processor-time.ts';

/** The groups of a stack's processes that are not Eligo's own. */
export const serverGroups = ['postgres', 'nats', 'processor'] as const;

/**
 * The tops of a stack's groups: each part under its name, and as `app` whatever has several parts in it, or started them. `stubPid` is a
 * processor that the stack did not start itself.
 */
export function stackGroups(startedPid: number, file: StackFile, stubPid: number | undefined): GroupTops {
  const names = new Map<number, string>();
  for (const part of file.processes) {
    const name = part.name === 'sandbox' ? 'processor' : part.name;
    names.set(part.pid, names.has(part.pid) ? 'app' : name);
  }
  names.set(startedPid, 'app');
  if (stubPid !== undefined) names.set(stubPid, 'processor');
  return names;
}

/** What Eligo's own processes used, each by its name. */
export function ownTime(time: ProcessorTime): [string, number][] {
  const servers: readonly string[] = serverGroups;
  return Object.entries(time).filter(([name]) => !servers.includes(name));
}
