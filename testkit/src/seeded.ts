/** The id of the seeded record of this kind and number, from 1. */
export function seededId(prefix: string, number: number): string {
  return `${prefix}_${String(number).padStart(26, '0')}`;
}

/** The account that seeded records belong to, in test mode; every sixth belongs to an account that has no other. */
export const seededAccount: string = seededId('facct', 1);

/**
 * The `from` of an insert of `count` records of the account and a fifth of that of others. Each of the others has one, so that the average account is small.
 * Each record has a number `n`, its `id` of 26 places, its `account`, and the time `at`, five minutes after the one before. A fifth of the account's are `heavy`: they belong to one record of another kind, whose number
 * is `owner`; each of the others to one of its own.
 */
export function seededRows(count: number): string {
  return `from (select n, lpad(n::text, 26, '0') as id, n <= ${count / 5} as heavy,
      lpad(case when n <= ${count / 5} then '1' else n::text end, 26, '0') as owner,
      case when n <= ${count} then '${seededAccount}' else 'facct_' || lpad(n::text, 26, '0') end as account,
      now() - interval '1 year' + n * interval '5 minutes' as at
    from generate_series(1, ${count + Math.floor(count / 5)}) n) r`;
}

/** Inserts of the outbox, the inbox and the dead letters, which every service has: a twentieth of the events waits to be published. */
export function seededEvents(count: number): string[] {
  const rows = seededRows(count);
  return [
    `outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload, published_at, stream_seq, created_at)
     select 'fevt_' || id, 'fcs_' || id, 1, 'checkout.session.created', account, true, 'x'::bytea, case when n % 20 > 0 then at end,
       case when n % 20 > 0 then n end, at ${rows}`,
    `outbox_queue (event_id) select 'fevt_' || id ${rows} where n % 20 = 0`,
    `inbox (consumer, event_id, handled_at) select 'seeded', 'fevt_' || id, at ${rows}`,
    `dead_letters (consumer, event_id, type, account_id, test_mode, payload, error, deliveries)
     select 'seeded', 'fevt_' || id, 'x', account, true, 'x'::bytea, 'failed', 20 ${rows} where n % 10 = 0`,
  ];
}

/** The inserts of idempotency keys, under `key <n>` for `endpoint`; a fifth is old enough to be pruned, a twentieth was never finished. */
export function seededKeys(count: number, endpoint: string): string {
  return `idempotency_keys (account_id, test_mode, endpoint, key, request_hash, state, attempt_id, lease_until, status, body, created_at)
     select account, true, '${endpoint}', 'key ' || n, sha256('k'), case when n % 20 = 0 then 'in_progress' else 'finished' end, 'fatt_' || id, at,
       case when n % 20 > 0 then 200 end, case when n % 20 > 0 then 'x'::bytea end,
       now() - case when n % 10 < 2 then 31 else 2 end * interval '1 day' - n * interval '1 second' ${seededRows(count)}`;
}
