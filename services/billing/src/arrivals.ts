/** Who waits in this process for a record to exist. */
export interface Arrivals {
  announce(id: string): void;
  /** Resolves when the id is announced, after `pollMs` at the latest (another process may have made it), or when the signal is aborted. */
  next(id: string, pollMs: number, signal: AbortSignal): Promise<void>;
}

export function createArrivals(): Arrivals {
  const waiting = new Map<string, Set<() => void>>();
  return {
    announce(id) {
      for (const wake of waiting.get(id) ?? []) wake();
    },
    next(id, pollMs, signal) {
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          const others = waiting.get(id);
          others?.delete(wake);
          if (others?.size === 0) waiting.delete(id);
          resolve();
        };
        const timer = setTimeout(wake, pollMs);
        signal.addEventListener('abort', wake, { once: true });
        const others = waiting.get(id) ?? new Set();
        waiting.set(id, others.add(wake));
      });
    },
  };
}
