/** Numbers from a seed: the same ones for the same seed. */
export interface Random {
  /** From 0 to 1, without 1. */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  pick<Value>(from: readonly Value[]): Value;
}

/** Mulberry32: small, and even enough to choose victims by. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick(from) {
      const value = from[Math.floor(next() * from.length)];
      if (value === undefined) throw new Error('there is nothing to pick from');
      return value;
    },
  };
}

/** The seed of this run: ELIGO_TEST_SEED, to run again what failed, or this one; without it a new one. */
export function seedOfRun(otherwise?: number): number {
  const given = process.env.ELIGO_TEST_SEED;
  if (given === undefined || given === '') return otherwise ?? Math.floor(Math.random() * 2 ** 32);
  const seed = Number(given);
  if (!Number.isInteger(seed)) throw new Error('ELIGO_TEST_SEED is a whole number');
  return seed;
}
