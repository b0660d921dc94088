export type LockAnswer = { release: () => void; holder?: undefined } | { release?: undefined; holder: number };
export function tryLock(path: string): LockAnswer;
export function withLock<Result>(
  path: string,
  work: () => Promise<Result> | Result,
  options?: { waitingMs?: number; onWait?: (holder: number) => void },
): Promise<Result>;
