import type { Round } from '../rounds.ts';

/** How a measurement looks at what is renewed. */
export interface Watch {
  /** How many renewals were ever paid. */
  count(): Promise<number>;
  pause(ms: number): Promise<unknown>;
  now(): number;
}

export interface HowLong {
  readonly forMs: number;
  /** How many renewals end the round before: what is due then still keeps billing busy. */
  readonly enough?: number | undefined;
}

/** What is renewed and paid in a while, out of what is due: at least one. With `enough` it ends with that many, however fast they are. */
export async function renewedMeanwhile({ count, pause, now }: Watch, { forMs, enough }: HowLong): Promise<Round> {
  const [before, startedAt] = [await count(), now()];
  const roundOf = (after: number) => {
    const elapsedMs = now() - startedAt;
    return { count: after - before, elapsedMs, perSecond: ((after - before) * 1_000) / elapsedMs };
  };
  await pause(enough === undefined ? forMs : Math.min(forMs, firstLookMs));
  for (;;) {
    const { elapsedMs, ...round } = roundOf(await count());
    const left = forMs - elapsedMs;
    if (round.count >= (enough ?? 1) || (left <= 0 && round.count > 0) || elapsedMs >= longestMs) return round;
    await pause(nextLookMs(round, left, enough));
  }
}

// At most as soon as the rest takes at the rate so far: a count reads all that was ever renewed.
function nextLookMs({ count, perSecond }: Round, leftMs: number, enough: number | undefined): number {
  if (leftMs <= 0) return shortestMs;
  const restMs = enough === undefined || perSecond === 0 ? leftMs : ((enough - count) * 1_000) / perSecond;
  return Math.min(Math.max(restMs, shortestMs), leftMs);
}

const firstLookMs = 500;
const shortestMs = 100;
const longestMs = 60_000;
