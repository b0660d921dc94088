import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openIdempotencyKeys } from '../src/store/idempotency-keys.ts';
import type { EventRecord } from '../src/store/record-types.ts';
import { openRecords } from '../src/store/records.ts';
import { forgetLapsed, type RetentionParts } from '../src/store/retention.ts';

const day = 86_400_000;
const now = Date.parse('2026-06-01T00:00:00Z');
let db: DatabaseSync;
let parts: RetentionParts & { keys: ReturnType<typeof openIdempotencyKeys>; records: ReturnType<typeof openRecords> };
let aheadMs = 0;

beforeEach(() => {
  db = new DatabaseSync(':memory:');
  aheadMs = 0;
  parts = { keys: openIdempotencyKeys(db), records: openRecords(db), keyClockAheadMs: () => aheadMs };
});
afterEach(() => db.close());

const storeKey = (key: string, ageMs: number) =>
  parts.keys.store('acct_1', key, { endpoint: 'POST /v1/x', fingerprint: '', status: 200, body: '{}' }, now - ageMs);
const storeEvent = (id: string, ageMs: number) => {
  const event: EventRecord = {
    ...{ id, account: 'acct_1', created: (now - ageMs) / 1000, type: 'charge.succeeded', connected: false },
    ...{ kind: 'charge', snapshot: {}, requestId: null, idempotencyKey: null },
  };
  parts.records.insert('event', event);
};
const keysLeft = () =>
  db
    .prepare('select key from idempotency_keys order by key')
    .all()
    .map(({ key }) => key);
const eventsLeft = () =>
  db
    .prepare(`select id from records where kind = 'event' order by seq`)
    .all()
    .map(({ id }) => id);
const forgetAll = (most: number) => {
  while (forgetLapsed(parts, now, most));
};

describe('the sandbox forgets', () => {
  it('keys after a day by their own clock', () => {
    storeKey('young', day - 1);
    storeKey('old', day);
    forgetAll(10);
    expect(keysLeft()).toEqual(['young']);
    aheadMs = 1;
    forgetAll(10);
    expect(keysLeft()).toEqual([]);
  });

  it('events after thirty days, and no other record', () => {
    storeEvent('evt_old', 31 * day);
    const created = (now - 31 * day) / 1000;
    parts.records.insert('account', {
      ...{ id: 'acct_old', account: 'acct_1', created, type: 'custom', country: 'US', email: null },
      ...{ businessProfile: null, metadata: {} },
    });
    storeEvent('evt_young', 29 * day);
    forgetAll(10);
    expect(eventsLeft()).toEqual(['evt_young']);
    expect(parts.records.find('account', 'acct_1', 'acct_old')).toBeDefined();
  });

  it('all of them, though more have lapsed than it deletes at once', () => {
    for (let i = 0; i < 25; i++) {
      storeKey(`key_${i}`, 2 * day);
      storeEvent(`evt_${i}`, 31 * day);
    }
    expect(forgetLapsed(parts, now, 10)).toBe(true);
    expect([keysLeft().length, eventsLeft().length]).toEqual([15, 15]);
    forgetAll(10);
    expect([keysLeft(), eventsLeft()]).toEqual([[], []]);
  });
});
