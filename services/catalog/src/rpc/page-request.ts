import { Failure } from '@eligo/failures';
import type { Page } from '@eligo/proto/paging/v1/paging';
import type { PageRequest } from '../store/page.ts';
import { largestLimit, largestOffset } from '../store/page-cut.ts';

/** The page that a request asks for: 10 by default, 100 at most (interface, Limits). */
export function pageRequestOf(page: Page | undefined): PageRequest {
  const limit = page === undefined || page.limit <= 0n ? defaultLimit : Number(page.limit);
  const startingAfter = page?.startingAfter;
  const endingBefore = page?.endingBefore;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    throw Failure.invalid(
      ['query', 'ending_before'],
      'cursor_conflict',
      'Send either starting_after or ending_before, not both',
    );
  }
  return {
    limit: Math.min(limit, largestLimit),
    offset: Math.max(0, Math.min(page?.offset ?? 0, largestOffset)),
    startingAfter,
    endingBefore,
  };
}

const defaultLimit = 10;
