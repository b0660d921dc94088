import type { Child } from './child.ts';

/** A process that is started again when it dies. */
export interface Supervised {
  readonly name: string;
  /** The process that runs now; while it is being started again, the one that died. */
  current(): Child;
  restarts(): number;
  /** Stops the process for good. */
  stop(graceMs: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** Waits between restarts: doubled each time, and back to the first after a minute of good running. */
const firstDelayMs = 100;
const longestDelayMs = 10_000;
const goodRunMs = 60_000;

/**
 * Starts a process and starts it again whenever it dies. `start` resolves when the process is ready; `onRestarted` hears
 * of each new one, `onTrouble` of each death, in words. `longestRestartDelayMs` (10,000) bounds the wait before a restart.
 */
export async function supervise(
  start: () => Promise<Child>,
  hooks: {
    onRestarted: (child: Child) => void;
    onTrouble: (text: string) => void;
    longestRestartDelayMs?: number | undefined;
  },
): Promise<Supervised> {
  let child = await start();
  let restarts = 0;
  let stopping = false;
  let stopWaiting: () => void = () => undefined;

  const watch = async () => {
    let delayMs = firstDelayMs;
    while (!stopping) {
      const startedAt = Date.now();
      const how = await child.ended;
      if (stopping) return;
      if (Date.now() - startedAt > goodRunMs) delayMs = firstDelayMs;
      hooks.onTrouble(`${child.name} exited (${how}); restarting it in ${delayMs} ms`);
      const next = await startAgain(delayMs);
      delayMs = Math.min(delayMs * 2, hooks.longestRestartDelayMs ?? longestDelayMs);
      if (!next) continue;
      child = next;
      restarts += 1;
      tellRestarted(child);
    }
  };

  // Its file may not fit on a full disk; the process runs nevertheless.
  const tellRestarted = (restarted: Child) => {
    try {
      hooks.onRestarted(restarted);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      hooks.onTrouble(`${restarted.name} was restarted, but what depends on it was not told: ${reason}`);
    }
  };

  const startAgain = async (delayMs: number): Promise<Child | undefined> => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      stopWaiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (stopping) return undefined;
    try {
      return await start();
    } catch (error) {
      hooks.onTrouble(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };

  const watching = watch();
  return {
    name: child.name,
    current: () => child,
    restarts: () => restarts,
    kill: (signal) => child.kill(signal),
    async stop(graceMs) {
      stopping = true;
      stopWaiting();
      await child.stop(graceMs);
      await watching;
      // One that became ready while the stop was asked for.
      await child.stop(graceMs);
    },
  };
}
