/** The most rows of a page, and the most that an offset skips (interface, Limits; decisions 3). */
export const largestLimit = 100;
export const largestOffset = 10_000;

/** How a page is cut out of a list. */
export interface Cut {
  readonly direction: Direction;
  /** The condition that an id is on the far side of the cursor. */
  beyond(id: string): string;
  readonly order: 'asc' | 'desc';
  /** The most rows that may have to be looked at, to be written out as a limit; so many of them are skipped. */
  readonly most: number;
  readonly mostSkipped: number;
}

export type Direction = 'first' | 'after' | 'before';

/** The cut of a statement whose cursor, if there is one, is `$5`. */
export function cutOf(direction: Direction, isSkipping: boolean): Cut {
  const mostSkipped = isSkipping ? largestOffset : 0;
  const beyond = (candidate: string) =>
    direction === 'first' ? '($5::text is not null)' : `${candidate} ${direction === 'after' ? '<' : '>'} $5`;
  return {
    direction,
    beyond,
    order: direction === 'before' ? 'asc' : 'desc',
    most: largestLimit + 1 + mostSkipped,
    mostSkipped,
  };
}
