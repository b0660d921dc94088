/** Where an action gets its time from: the wall clock, or the test clock that a customer lives on. */
export interface Clock {
  now(): Date;
}

/** The wall clock. */
export const systemClock: Clock = { now: () => new Date() };

/** A clock that stands still, for tests and for work done at a given moment. */
export function fixedClock(date: Date): Clock {
  const ms = date.getTime();
  return { now: () => new Date(ms) };
}
