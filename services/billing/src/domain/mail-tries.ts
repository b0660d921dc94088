/** How long to wait after a failed try of a mail, in milliseconds, the first being 1; undefined: the mail is given up. */
export function pauseAfterTryMs(tries: number): number | undefined {
  return pausesMs[tries - 1];
}

/** The pauses between the tries of a mail: a mail server that is down for a day loses none. */
const pausesMs = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000] as const;
