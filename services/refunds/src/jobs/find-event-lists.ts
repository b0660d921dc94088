import type { Scope } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { findEventLists } from '../actions/find-event-lists.ts';
import type { Context } from '../context.ts';

const beforeAll: Scope = { accountId: '', testMode: false };

/** Has the processors' lists of events read of each account that has payments. One run looks at one page of accounts. */
export function findNewEventLists(context: Context): Job {
  let after = beforeAll;
  return {
    name: 'find-event-lists',
    everyMs: 300_000,
    async run() {
      const last = await findEventLists(context, after);
      after = last ?? beforeAll;
      return last !== undefined;
    },
  };
}
