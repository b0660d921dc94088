/** One of the two that are compared: a round gives operations per second. */
export interface Side {
  round(): Promise<number>;
}

export interface Compared {
  /** The median of the rounds' own ratios: what disturbs the machine for a while disturbs both sides of a round. */
  readonly ratio: number;
  readonly ours: number;
  readonly theirs: number;
}

/** Measures A B A B …, each side warmed up by a round that does not count. */
export async function compare(ours: Side, theirs: Side, rounds: number): Promise<Compared> {
  await ours.round();
  await theirs.round();
  const pairs: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    pairs.push({ ours: await ours.round(), theirs: await theirs.round() });
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
