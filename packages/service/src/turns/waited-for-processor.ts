import { openSync, readSync } from 'node:fs';

/**
 * Milliseconds for which the main thread of this process could have run so far and had to wait for a processor: the second number of Linux' `schedstat`. Undefined where the
 * kernel does not count it. A call takes some microseconds.
 */
export function waitedForProcessorMs(): number | undefined {
  file ??= open();
  if (file === 'none') return undefined;
  const length = readSync(file, buffer, 0, buffer.length, 0);
  const nanoseconds = Number(buffer.toString('latin1', 0, length).split(' ')[1]);
  return Number.isNaN(nanoseconds) ? undefined : nanoseconds / nanosecondsOfMs;
}

let file: number | 'none' | undefined;

// Open for as long as the process lives.
function open(): number | 'none' {
  try {
    return openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  } catch {
    return 'none';
  }
}

const buffer = Buffer.alloc(128);
const nanosecondsOfMs = 1_000_000;
