import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Milliseconds of processor time that a process has used so far: undefined where `/proc` does not tell (Linux does), 0 for one that has ended. */
export function processorMsOf(pid: number): number | undefined {
  if (!existsSync('/proc/self/schedstat')) return undefined;
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + nanosecondsOf(pid, thread), 0) / nanosecondsOfMs;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return 0;
    throw error;
  }
}

function nanosecondsOf(pid: number, thread: string): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0] ?? 0);
}

const nanosecondsOfMs = 1_000_000;
