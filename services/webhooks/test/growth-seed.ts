import { fillTables, seededAccount, seededEvents, seededId, seededRows, type TestDatabase } from '@eligo/testkit';

/**
 * Fills every table with `each` records of the account and a fifth of them of others. The account has 500 live endpoints, and many that it has deleted; a fifth of
 * its deliveries go to the first. Each of the others' endpoints has an account of its own. A delivery waits for each of the others' endpoints, a few of which
 * are disabled, and for a twentieth of the account's.
 */
export async function seedWebhooks(test: TestDatabase, each: number): Promise<void> {
  const rows = seededRows(each);
  const scope = 'account_id, test_mode';
  const owned = `case when account = '${seededAccount}' then account else 'facct_' || id end`;
  const isOwn = `account = '${seededAccount}'`;
  const endpoint = `case when ${isOwn} then 'fwh_' || lpad(case when heavy then '1' else (1 + n % 500)::text end, 26, '0') else 'fwh_' || id end`;
  const isDisabled = `(${isOwn} and n > 500 or not ${isOwn} and n % ${each / 50} = 0)`;
  await fillTables(test, 'webhooks', [
    `endpoints (${scope}, id, url, events, status, failures_in_row, failing_since, open_until, created_at, disabled_at, deleted_at)
     select ${owned}, true, 'fwh_' || id, 'https://example.com/' || n,
       case when n % 2 = 0 then array['*'] else array['refund.created', 'refund.updated'] end,
       case when ${isDisabled} then 'disabled' else 'enabled' end, case when n % 10 = 1 then 6 else 0 end,
       case when n % 10 = 1 then at end, case when n % 10 = 1 then now() + interval '1 hour' end, at, case when ${isDisabled} then at end,
       case when ${isDisabled} then at end ${rows}`,
    // Of the other accounts' lanes half are in use by a process, and a tenth was by one that died.
    `lanes (${scope}, endpoint_id, owner, lease_until, epoch, handed_from)
     select ${owned}, true, 'fwh_' || id, case when n % 10 < 6 and not ${isOwn} then 'another' end,
       case when not ${isOwn} then case when n % 10 < 5 then now() + interval '1 hour' when n % 10 = 5 then now() - n * interval '1 second' end end,
       1, case when n % 10 < 6 and not ${isOwn} then 'fwd_' || id end ${rows}`,
    `endpoint_secrets (${scope}, endpoint_id, generation, sealed, created_at)
     select ${owned}, true, 'fwh_' || id, 1, 'sealed', at ${rows} where not (${isOwn} and n > 500)`,
    // Each record has ten events.
    `events (${scope}, id, event_type, body, request_id, traceparent, occurred_at, created_at, record_id)
     select ${owned}, true, 'fevt_' || id, case when n % 10 = 0 then 'refund.updated' else 'refund.created' end, '{}', 'req', '', at, at,
       'fre_' || lpad((n / 10)::text, 26, '0') ${rows}`,
    `fan_outs (${scope}, event_id) select ${owned}, true, 'fevt_' || id ${rows}`,
    `deliveries (${scope}, id, endpoint_id, event_id, event_type, status, attempts, next_attempt_at, delivered_at, created_at, last_duration_ms)
     select ${owned}, true, 'fwd_' || id, ${endpoint}, 'fevt_' || id, 'refund.created',
       case when n % 20 = 0 or not ${isOwn} then 'pending' else 'succeeded' end, 1,
       case when n % 20 = 0 or not ${isOwn} then now() + case when n % 40 = 0 then -1 else 1 end * n * interval '1 second' end,
       case when n % 20 > 0 and ${isOwn} then at end, at, 5 ${rows}`,
    `attempts (${scope}, delivery_id, started_at, epoch, duration_ms, response_status, error)
     select ${owned}, true, 'fwd_' || id, at, 1, 5, 500, 'failed' ${rows}`,
    ...seededEvents(each),
  ]);
}

/** An endpoint of the account that is enabled, and one that it has deleted. */
export const liveEndpoint: string = seededId('fwh', 1);
