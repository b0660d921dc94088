/**
 * SQL for the end of a lease of so many milliseconds (a parameter such as `$5`) from now, by the database's clock: the clocks of the
 * processes that compete for it may differ. A lease is longer than the longest call that is made under it, plus a margin.
 */
export function leaseFromNow(milliseconds: string): string {
  return `clock_timestamp() + ${milliseconds} * interval '1 millisecond'`;
}

/** SQL that says whether the lease in this column still holds. */
export function leaseIsLive(column = 'lease_until'): string {
  return `${column} > clock_timestamp()`;
}

/** Refuses a lease that a call could outlive: two holders would then act at once. */
export function assertLeaseExceeds(leaseMs: number, callTimeoutMs: number, marginMs: number): void {
  if (leaseMs < callTimeoutMs + marginMs) {
    throw new Error(`a lease of ${leaseMs} ms must exceed the call's ${callTimeoutMs} ms by ${marginMs} ms`);
  }
}
