/**
 * SQL for the end of a lease of so many milliseconds (a parameter such as `$5`) from now, by the database's clock: the clocks of the
 * processes that compete for it may differ. A lease is longer than the longest call that is made under it, plus a margin.
 */
export function leaseFromNow(milliseconds: string): string {
  return `clock_timestamp() + ${milliseconds} * interval '1 millisecond'`;
}

/** SQL for the end of a lease that is given back: over at once, where `clock_timestamp()` may be rounded up to the next millisecond. */
export const leaseIsOver = "date_trunc('milliseconds', clock_timestamp())";

/** SQL that says whether the lease in this column still holds. */
export function leaseIsLive(column = 'lease_until'): string {
  return `${column} > clock_timestamp()`;
}
