/** One of the two that are compared. */
export interface Side {
  round(): Promise<Round>;
}

/** How many operations a round did, and how fast. */
export interface Round {
  readonly count: number;
  readonly perSecond: number;
}

export interface Compared {
  /** The median of the rounds' own ratios: what disturbs the machine for a while disturbs both sides of a round. */
  readonly ratio: number;
  readonly ours: number;
  readonly theirs: number;
}

/** How often to measure, and how many operations come first: code that has run less often has not been compiled for speed yet. */
export interface Pace {
  readonly rounds: number;
  readonly warmUp: number;
}

/** A machine that is busy with other things is not waited for any longer. */
const longestWarmUpMs = 30_000;

/** Measures A B A B …, each side warmed up by rounds that do not count, at least one. */
export async function compare(ours: Side, theirs: Side, { rounds, warmUp }: Pace): Promise<Compared> {
  for (const side of [ours, theirs]) {
    const deadline = performance.now() + longestWarmUpMs;
    for (let done = 0; done === 0 || (done < warmUp && performance.now() < deadline); ) {
      done += (await side.round()).count;
    }
  }
  const pairs: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    pairs.push({ ours: (await ours.round()).perSecond, theirs: (await theirs.round()).perSecond });
  }
  return {
    ratio: median(pairs.map((pair) => pair.ours / pair.theirs)),
    ours: median(pairs.map((pair) => pair.ours)),
    theirs: median(pairs.map((pair) => pair.theirs)),
  };
}

/** The middle value, or the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1];
  const high = sorted[Math.floor(middle)];
  if (low === undefined || high === undefined) throw new Error('the median of nothing');
  return (low + high) / 2;
}
