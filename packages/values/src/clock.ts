/** Where an action gets its time from: the wall clock, or the test clock that a customer lives on. */
export interface Clock {
  now(): Date;
}

/** The wall clock. */
export const systemClock: Clock = { now: () => new Date() };
