import type pg from 'pg';
import { identifiersIn } from './fresh-values.ts';

/**
 * Every identifier that belongs to each of these sessions, in an order that is the same for sessions that are alike: so that what was recorded
 * for one can be replayed for another.
 */
export async function sessionParts(postgres: pg.Pool, sessionIds: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await postgres.query<{ id: string; parts: string }>(select, [sessionIds]);
  return new Map(rows.map(({ id, parts }) => [id, [...identifiersIn([parts])]]));
}

/** What one session's parts become for another. */
export function partsFor(recorded: readonly string[], other: readonly string[]): Map<string, string> {
  if (recorded.length !== other.length) throw new Error('a session unlike the one that was recorded');
  return new Map(recorded.map((id, index) => [id, other[index] ?? id]));
}

const of = (table: string, order: string) => `
  (select jsonb_agg(to_jsonb(t) order by ${order}) from checkout.${table} t
   where t.account_id = s.account_id and t.test_mode = s.test_mode and t.session_id = s.id)`;

const select = `
  select s.id, jsonb_build_array(to_jsonb(s), ${of('session_lines', 't.position')}, ${of('session_fees', 't.position')},
    ${of('eligibility_records', 't.id')}, ${of('payment_intents', 't.id')},
    (select jsonb_agg(to_jsonb(t) order by t.id) from checkout.charge_attempts t
     where t.account_id = s.account_id and t.test_mode = s.test_mode and t.subject_id = s.id),
    (select jsonb_agg(to_jsonb(t) order by t.id) from checkout.charges t
     join checkout.payment_intents i on i.account_id = t.account_id and i.test_mode = t.test_mode and i.id = t.payment_intent_id
     where i.account_id = s.account_id and i.test_mode = s.test_mode and i.session_id = s.id))::text as parts
  from checkout.sessions s where s.id = any($1)`;
