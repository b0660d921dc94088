import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Milliseconds of processor time that a process has used so far: undefined where the kernel does not count its nanoseconds (Linux does), 0 for one that has ended.
 * The ticks of `/proc/<pid>/stat` round more away than a fast read takes.
 */
export function processorMsOf(pid: number): number | undefined {
  return schedulerMsOf(pid, 0);
}

/** Milliseconds for which the threads of a process could have run so far and had to wait for a processor, each counted by itself; undefined and 0 as above. */
export function processorWaitMsOf(pid: number): number | undefined {
  return schedulerMsOf(pid, 1);
}

function schedulerMsOf(pid: number, column: 0 | 1): number | undefined {
  if (!existsSync('/proc/self/schedstat')) return undefined;
  const threads = unlessGone(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const nanoseconds = threads.map((thread) =>
    Number(unlessGone(() => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))?.split(' ')[column] ?? 0),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / nanosecondsOfMs;
}

/** Reads something of a process or a thread; undefined for one that has ended since it was listed. */
export function unlessGone<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return undefined;
    throw error;
  }
}

const nanosecondsOfMs = 1_000_000;
