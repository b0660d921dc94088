import { newId } from '@eligo/values';

/** Places in a lane for the deliveries that one transaction plans, which all have greater ids than `after`. */
export interface Reservation {
  readonly after: string;
  /** On the clock of performance.now(). */
  readonly until: number;
}

/** That of a transaction that is about to plan. */
export function newReservation(): Reservation {
  return { after: newId('delivery'), until: performance.now() + longestPlanMs };
}

// Longer than the statements of a transaction may take. One that was rolled back keeps its lanes from being given up for so long.
const longestPlanMs = 30_000;

/** Whether its transaction may still commit. */
export function isOpen({ until }: Reservation): boolean {
  return performance.now() < until;
}

/** The others, once deliveries with these ids were handed over. A transaction that reserved places of the lane since keeps them: its ids are greater. */
export function withoutThatOf(
  [first]: readonly { readonly deliveryId: string }[],
  reservations: readonly Reservation[],
): readonly Reservation[] {
  const own = reservations.findLastIndex(({ after }) => first !== undefined && after < first.deliveryId);
  return reservations.toSpliced(own, own < 0 ? 0 : 1);
}
