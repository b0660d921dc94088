/** How far the lanes have come, of all their steps. */
export interface Progress {
  /** One more step is done. */
  step(): void;
  end(): void;
  /** Resolves with true when this share is done, with false when the lanes end before it. */
  reaches(share: number): Promise<boolean>;
  /** Resolves at the end of the lanes. */
  readonly over: Promise<void>;
}

export function progressOf(steps: number): Progress {
  const waiting: { readonly share: number; readonly wake: (isReached: boolean) => void }[] = [];
  const { promise: over, resolve: finish } = Promise.withResolvers<void>();
  let done = 0;
  let hasEnded = false;
  return {
    over,
    step() {
      done += 1;
      for (const { share, wake } of waiting) if (done / steps >= share) wake(true);
    },
    end() {
      hasEnded = true;
      for (const { wake } of waiting) wake(false);
      finish();
    },
    async reaches(share) {
      if (hasEnded) return false;
      if (done / steps >= share) return true;
      return new Promise((wake) => waiting.push({ share, wake }));
    },
  };
}
