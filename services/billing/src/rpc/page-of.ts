import type { Page } from '@eligo/postgres';
import type { Page as PageMessage } from '@eligo/proto/paging/v1/paging';

/** The page that a request asks for; ten of the newest when it names none. */
export function pageOf(message: PageMessage | undefined): Page {
  return {
    limit: message === undefined || message.limit <= 0n ? 10 : Number(message.limit),
    offset: message?.offset ?? 0,
    startingAfter: message?.startingAfter,
    endingBefore: message?.endingBefore,
  };
}
