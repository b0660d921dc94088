import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { expireLettersJob } from './letters.ts';

/** Deleted test clocks of any account that sessions or letters may still be on, at most `most`. */
export async function deletedClocks(db: Db, most: number): Promise<{ scope: Scope; id: string }[]> {
  return (await db.rows(selectDeleted, null, [most])).map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    id: row.id,
  }));
}

/**
 * Takes open sessions, and letters that are in review or will end, off a deleted clock, at most `most` of each, so that they continue by the wall clock. Returns how
 * many. A session that another transaction works on is left for the next time.
 */
export async function leaveDeletedClock(tx: Tx, scope: Scope, id: string, most: number): Promise<number> {
  const sessions = await tx.execute(leaveSessions, scope, [id, most]);
  const reviews = await tx.execute(leaveReviews, scope, [id, most]);
  const letters = await tx.execute(leaveLetters, scope, [id, most]);
  if (reviews + letters > 0) wakeJobAfterCommit(tx, expireLettersJob);
  return sessions + reviews + letters;
}

/** Looks at a clock no more that was deleted before `at` and that nothing is on. What was begun on it before is written by then. */
export async function noteClockLeft(tx: Tx, scope: Scope, id: string, at: Date): Promise<void> {
  await tx.execute(noteLeft, scope, [id, at]);
}

const selectDeleted = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'test_clocks.deleted',
  'select account_id, test_mode, id from checkout.deleted_clocks($1)',
);

const leaveSessions = scoped<never>(
  'test_clocks.leave_sessions',
  `update checkout.sessions set test_clock_id = null
   where account_id = $1 and test_mode = $2 and id = any (array(
     select id from checkout.sessions
     where account_id = $1 and test_mode = $2 and test_clock_id = $3 and status = 'open'
     order by expires_at limit $4 for update skip locked))`,
);

// With its session: that is open again where the letter is denied.
const leaveReviews = scoped<never>(
  'test_clocks.leave_reviews',
  `with due as materialized (
     select id, session_id from checkout.letters
     where account_id = $1 and test_mode = $2 and test_clock_id = $3 and status = 'in_review'
     order by review_until limit $4
   ), held as materialized (
     select id from checkout.sessions
     where account_id = $1 and test_mode = $2 and id = any (array(select session_id from due)) for update skip locked
   ), left_it as (
     update checkout.sessions set test_clock_id = null
     where account_id = $1 and test_mode = $2 and id = any (array(select id from held))
   )
   update checkout.letters set test_clock_id = null
   where account_id = $1 and test_mode = $2 and id = any (array(select due.id from due join held on held.id = due.session_id))`,
);

const leaveLetters = scoped<never>(
  'test_clocks.leave_letters',
  `update checkout.letters set test_clock_id = null
   where account_id = $1 and test_mode = $2 and id = any (array(
     select id from checkout.letters
     where account_id = $1 and test_mode = $2 and test_clock_id = $3 and status = 'approved' and end_announced_at is null
       and customer_id is not null
     order by valid_until limit $4 for update skip locked))`,
);

const noteLeft = scoped<never>(
  'test_clocks.note_left',
  `update checkout.test_clocks set left_at = now(), unsettled = false
   where account_id = $1 and test_mode = $2 and id = $3 and deleted_at <= $4
     and not exists (
       select from checkout.sessions
       where account_id = $1 and test_mode = $2 and test_clock_id = $3 and status = 'open')
     and not exists (
       select from checkout.letters
       where account_id = $1 and test_mode = $2 and test_clock_id = $3 and status = 'in_review')
     and not exists (
       select from checkout.letters
       where account_id = $1 and test_mode = $2 and test_clock_id = $3 and status = 'approved' and end_announced_at is null
         and customer_id is not null)`,
);
