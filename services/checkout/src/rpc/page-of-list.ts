import { Failure } from '@eligo/failures';
import type { Page } from '@eligo/postgres';

/** A page of a list that is at hand as a whole and stands in its own order. A cursor that is not in it is a 422, as everywhere. */
export function pageOfList<Item extends { readonly id: string }>(
  list: readonly Item[],
  page: Page,
): { items: readonly Item[]; hasMore: boolean } {
  const { limit, offset = 0, startingAfter, endingBefore } = page;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    throw Failure.invalid(
      ['query', 'ending_before'],
      'cursor_conflict',
      'Send either starting_after or ending_before, not both',
    );
  }
  if (endingBefore !== undefined) {
    const end = Math.max(indexOf(list, endingBefore, 'ending_before') - offset, 0);
    const start = Math.max(end - limit, 0);
    return { items: list.slice(start, end), hasMore: start > 0 };
  }
  const start = (startingAfter === undefined ? 0 : indexOf(list, startingAfter, 'starting_after') + 1) + offset;
  return { items: list.slice(start, start + limit), hasMore: list.length > start + limit };
}

function indexOf(list: readonly { readonly id: string }[], id: string, name: string): number {
  const index = list.findIndex((item) => item.id === id);
  if (index === -1) throw Failure.invalid(['query', name], 'cursor_not_found', 'No such record in this list');
  return index;
}
