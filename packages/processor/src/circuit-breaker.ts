export interface CircuitBreaker {
  isOpen(): boolean;
  /** What a call showed: `alive` for any answer below 500, `failed` otherwise, `unreachable` when nothing listens there. */
  note(sign: 'alive' | 'failed' | 'unreachable'): void;
  close(): void;
}

export interface BreakerOptions {
  /** Asks whether the processor is back; rejects or gives false if not. */
  probe: () => Promise<boolean>;
  /** Calls in a row that must fail; high enough that faults at a rate of one in five do not add up to it. */
  failuresToOpen?: number;
  /** Refused connections in a row that must happen: nothing listens, so there is little to doubt. */
  refusalsToOpen?: number;
  firstProbeMs?: number;
  maxProbeMs?: number;
  onChange?: (open: boolean) => void;
}

/**
 * Opens after several failures in a row, and finds out by itself when the processor is back: while open, it asks in growing
 * steps, so that no shopper's request is the probe and recovery does not wait for one.
 */
export function createCircuitBreaker(options: BreakerOptions): CircuitBreaker {
  const { probe, failuresToOpen = 12, refusalsToOpen = 3, firstProbeMs = 250, maxProbeMs = 2_000, onChange } = options;
  let failures = 0;
  let refusals = 0;
  let open = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function change(to: boolean): void {
    open = to;
    onChange?.(to);
    if (to) schedule(firstProbeMs);
    else clearTimeout(timer);
  }

  function schedule(delayMs: number): void {
    if (closed) return;
    timer = setTimeout(() => {
      probe()
        .catch(() => false)
        .then((alive) => {
          if (!open || closed) return;
          if (alive) reset();
          else schedule(Math.min(delayMs * 2, maxProbeMs));
        });
    }, delayMs);
    timer.unref();
  }

  function reset(): void {
    failures = 0;
    refusals = 0;
    if (open) change(false);
  }

  return {
    isOpen: () => open,
    note: (sign) => {
      if (sign === 'alive') {
        reset();
        return;
      }
      failures += 1;
      refusals = sign === 'unreachable' ? refusals + 1 : 0;
      if (!open && (failures >= failuresToOpen || refusals >= refusalsToOpen)) change(true);
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}
