import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** By then the last of what started has settled: what it still holds cannot be collected. */
const settledMs = 1_000;

/**
 * Collects what starting left behind, a moment after it: the sources and syntax trees of some thousand modules, which a process that has little to do
 * would hold for good. One pause of some 60 ms, for a third of the memory.
 */
export function collectStartGarbage(afterMs = settledMs): void {
  setTimeout(collect, afterMs).unref();
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  gc();
}
