import { type Db, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { TimelineEntry, TimelineType } from '../domain/session-timeline.ts';

// A shopper may try many cards; the latest say why the last one was declined. A session has at most a hundred letters, one for each line.
const mostIntents = 50;
const mostChargesOfIntent = 5;
const mostCaptures = 50;
const mostLetters = 100;
// A session takes at most twenty declines on its page, and sixty by request.
const mostSetUpFailures = 80;
// Each but the first follows the last decision of the session's letters.
const mostVersions = 10;
const mostEntries = 200;
/** One more is read than is asked for, to know whether there is more. */
const andOne = (most: number) => most + 1;

/** What happened to a session, newest first, in one read; undefined when there is no such session. */
export async function readSessionTimeline(
  db: Db,
  scope: Scope,
  sessionId: string,
): Promise<{ entries: TimelineEntry[]; hasMore: boolean } | undefined> {
  const limits = [
    andOne(mostIntents),
    mostChargesOfIntent,
    andOne(mostCaptures),
    andOne(mostLetters),
    andOne(mostEntries),
    mostVersions,
    andOne(mostSetUpFailures),
  ];
  const rows = await db.rows(select, scope, [sessionId, ...limits]);
  if (rows.length === 0) return undefined;
  const isCut = rows.length > mostEntries || rows.some(({ is_cut: cut }) => cut);
  return { entries: rows.slice(0, mostEntries).map(entryOfRow), hasMore: isCut };
}

interface EntryRow {
  readonly at: Date;
  readonly type: TimelineType;
  readonly record_id: string;
  readonly amount_cents: bigint | null;
  readonly status: string | null;
  readonly code: string | null;
  readonly decline_code: string | null;
  /** Of its kind there is more than is read. */
  readonly is_cut: boolean;
}

function entryOfRow(row: EntryRow): TimelineEntry {
  return {
    at: row.at,
    type: row.type,
    recordId: row.record_id,
    amountCents: row.amount_cents === null ? null : centsFromInt64(row.amount_cents),
    status: row.status,
    code: row.code,
    declineCode: row.decline_code,
  };
}

// Of entries at one time the later kind goes first. A canceled session says why where a letter or a hold caused it: reviews that end with their session end before
// their own time.
const own = (table: string) => `${table}.account_id = $1 and ${table}.test_mode = $2`;
const select = scoped<EntryRow>(
  'session_timeline.read',
  `with session as (
     select s.status, s.created_at, s.completed_at, s.ended_at, s.amount_total_cents from checkout.sessions s
      where s.account_id = $1 and s.test_mode = $2 and s.id = $3
   ), intents as (
     select i.id, i.status, i.capture_method, i.amount_cents, i.created_at, i.hold_end, i.renews from checkout.payment_intents i
      where ${own('i')} and i.session_id = $3 order by i.id desc limit $4
   ), attempts as (
     select a.id, a.payment_intent_id, a.amount_cents, a.status, a.failure_code, a.sends, a.acting_at, a.confirm_until - a.created_at as took,
         w.requested_at, i.status as intent_status
       from intents i cross join lateral (
         select t.id, t.payment_intent_id, t.amount_cents, t.status, t.failure_code, t.sends, t.acting_at, t.confirm_until, t.created_at
           from checkout.charge_attempts t where ${own('t')} and t.payment_intent_id = i.id order by t.id desc limit $5) a
       left join checkout.authentications w on ${own('w')} and w.session_id = $3 and w.attempt_id = a.id
   ), letters as (
     select l.id, l.status, l.created_at, l.decided_at, l.review_until from checkout.letters l
      where ${own('l')} and l.session_id = $3 order by l.product_id limit $7
   ), captures as (
     select c.id, c.status, c.amount_cents, c.created_at, c.failure_code from checkout.captures c
      where ${own('c')} and c.session_id = $3 order by c.id desc limit $6
   ), versions as (
     select v.id, v.created_at, v.eligible_cents, v.cause from checkout.session_split_versions v
      where ${own('v')} and v.session_id = $3 and v.version > 1 order by v.version desc limit $9
   ), entries (rank, at, type, record_id, amount_cents, status, code, decline_code, is_cut) as (
     select 0, s.created_at, 'session.created', $3, s.amount_total_cents, s.status, null, null, false from session s
     union all
     select 9, coalesce(s.completed_at, s.ended_at), 'session.' || case s.status when 'complete' then 'completed' else s.status end, $3, null,
       s.status, case when s.status <> 'canceled' then null
         when exists (select from checkout.session_cancellations k where ${own('k')} and k.session_id = $3)
           then (select 'canceled_by_' || k.canceled_by from checkout.session_cancellations k where ${own('k')} and k.session_id = $3)
         when exists (select from letters l where l.status = 'denied') and not exists (select from versions) then 'letter_denied'
         when exists (select from intents i where i.hold_end in ('lapsed', 'lost'))
           then (select 'hold_' || max(i.hold_end) from intents i where i.hold_end in ('lapsed', 'lost'))
         when exists (select from letters l where l.status = 'expired' and l.decided_at >= l.review_until)
           then case when exists (select from intents i where i.hold_end = 'not_renewed') then 'hold_not_renewed' else 'letter_expired' end end, null, false
       from session s where s.status in ('complete', 'canceled', 'expired')
     union all
     select 1, i.created_at, 'payment.created', i.id, i.amount_cents, i.status, case when i.renews is not null then 'hold_renewed' end, null, count(*) over () = $4 from intents i
     union all
     select 2, a.acting_at, 'payment.outcome_unknown', a.payment_intent_id, a.amount_cents, a.status, null, null, false
       from checkout.charge_attempts a
      where ${own('a')} and a.purpose in ('session', 'renewal') and a.subject_id = $3
        and a.status in ('created', 'sending', 'unknown', 'succeeded') and a.status = 'unknown'
     union all
     select 2, a.requested_at, 'payment.authentication_requested', a.payment_intent_id, a.amount_cents, a.intent_status, null, null, false
       from attempts a where a.requested_at is not null
     union all
     select 3, case when a.sends = 0 then a.acting_at
         else least(a.acting_at + a.took, (select coalesce(s.completed_at, s.ended_at) from session s)) end, 'payment.abandoned',
         a.payment_intent_id, a.amount_cents, a.intent_status,
         case when a.requested_at is not null then 'authentication_not_completed' when a.sends = 0 then 'not_sent' else 'canceled_late' end, null, false
       from attempts a where a.status = 'abandoned'
     union all
     select 3, f.failed_at, 'setup.failed', f.setup_intent_id, null, null, f.failure_code, f.decline_code, count(*) over () = $10
       from (select u.failed_at, u.setup_intent_id, u.failure_code, u.decline_code from checkout.set_up_failures u
              where ${own('u')} and u.session_id = $3 order by u.number desc limit $10) f
     union all
     select 3, c.created_at, 'payment.' || case when c.status = 'failed' then 'failed' when i.capture_method = 'manual' then 'authorized'
         else 'succeeded' end, c.id, c.amount_cents, c.status, c.failure_code, c.decline_code, false
       from intents i cross join lateral (
         select h.id, h.status, h.amount_cents, h.created_at, h.failure_code, h.decline_code from checkout.charges h
          where ${own('h')} and h.payment_intent_id = i.id order by h.id desc limit $5) c
     union all
     select 4, l.created_at, 'letter.requested', l.id, null, l.status, null, null, count(*) over () = $7 from letters l
     union all
     select 5, l.decided_at, 'letter.' || l.status, l.id, null, l.status, null, null, false from letters l where l.status <> 'in_review'
     union all
     select 8, v.created_at, 'session.reopened', v.id, v.eligible_cents, null, v.cause, null, false from versions v
     union all
     select 1, r.created_at, 'session.repriced', $3, r.total_cents, null, r.cause, null, false
       from checkout.session_repricings r where ${own('r')} and r.session_id = $3
     union all
     select 6, c.created_at, 'capture.' || c.status, c.id, c.amount_cents, c.status, c.failure_code, null, count(*) over () = $6 from captures c
     union all
     select 7, o.acting_at, 'hold.voided', o.payment_intent_id, o.amount_cents, o.status, null, null, false
       from intents i join checkout.intent_operations o on ${own('o')} and o.payment_intent_id = i.id
        and o.status in ('pending', 'done') and o.ends_hold and o.kind = 'cancel' and o.status = 'done'
   )
   select e.at, e.type, e.record_id, e.amount_cents, e.status, e.code, e.decline_code, e.is_cut
     from entries e order by e.at desc, e.rank desc, e.record_id desc limit $8`,
);
