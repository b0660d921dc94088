import type { Cut } from './page-cut.ts';

/** A condition that is asked of each row of a list in its order. Rows that do not fulfill it are passed over, up to `mostPassedOver`. */
export interface Sieve {
  /** The condition, by the expression of an id. */
  readonly on: (id: string) => string;
  /** The condition that there can be rows that do not fulfill it. */
  readonly inUseText: string;
  /** The select of the list's ids in order, with this end. */
  readonly ids: (cut: Cut, end: string) => string;
}

/** The most rows that a page passes over: 0.2 to 0.6 s. A page that is not full by then is 503, and the client asks again. */
export const mostPassedOver = 20_000;

/** The ids of a page of a list with a sieve. */
export function sievedIds({ on, ids }: Sieve, cut: Cut): string {
  const walked = ids(cut, `limit ${cut.most + mostPassedOver}`);
  return `select page.id from (${walked}) page where ${on('page.id')} limit $3 offset $4`;
}

/**
 * Whether the walk ended before the list did, so that others may follow; of the same snapshot as the page, and undecided for a page with the row
 * that says that there are more.
 */
export function cutShortText({ inUseText, ids }: Sieve, cut: Cut): string {
  const next = ids(cut, `limit 1 offset ${cut.most + mostPassedOver}`);
  return `case when ${inUseText} and (select count(*) from page) < $3 then exists (${next}) end`;
}
