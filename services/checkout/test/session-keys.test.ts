import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadSession } from '../src/store/sessions.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const hash = (n: number) => new Uint8Array(32).fill(n);

describe('idempotency of the creation (decisions 1.1)', () => {
  test('the same key and body answers with the same session while it is open [D14.11]', async () => {
    const idempotency = { key: 'k1', requestHash: hash(1) };
    const first = await fixture.session({ idempotency });
    const again = await fixture.session({ idempotency });
    expect(again).toEqual(first);
  });

  test('and makes a new one once it is canceled', async () => {
    const idempotency = { key: 'k2', requestHash: hash(1) };
    const first = await fixture.session({ idempotency });
    await fixture.test.admin("update checkout.sessions set status = 'canceled' where id = $1", [first.id]);
    expect((await fixture.session({ idempotency })).id).not.toBe(first.id);
  });

  test('another body under the key makes a new session and expires the old one', async () => {
    const first = await fixture.session({ idempotency: { key: 'k3', requestHash: hash(1) } });
    const second = await fixture.session({ idempotency: { key: 'k3', requestHash: hash(2) } });
    expect(second.id).not.toBe(first.id);
    expect((await loadSession(fixture.database, fixture.scope, first.id))?.status).toBe('expired');
    const third = await fixture.session({ idempotency: { key: 'k3', requestHash: hash(2) } });
    expect(third.id).toBe(second.id);
  });

  test('eight requests at once under one key get one session', async () => {
    const idempotency = { key: 'k4', requestHash: hash(4) };
    const sessions = await Promise.all(Array.from({ length: 8 }, () => fixture.session({ idempotency })));
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(1);
  });

  test('sessions that are created at once under keys share transactions, and each key gets its own', async () => {
    const count = async () =>
      Number((await fixture.test.admin<{ count: string }>('select count(*) from checkout.sessions'))[0]?.count);
    const before = await count();
    const keys = Array.from({ length: 12 }, (_, at) => `k5-${at % 10}`);
    const parts = [{}, { fees: [{ amountCents: 1n }] }];
    const sessions = await Promise.all(
      keys.map((key, at) =>
        fixture.session({ ...parts[at % parts.length], idempotency: { key, requestHash: hash(5) } }),
      ),
    );
    expect(Map.groupBy(sessions, ({ id }) => id).size).toBe(10);
    expect([sessions[10]?.id, sessions[11]?.id]).toEqual([sessions[0]?.id, sessions[1]?.id]);
    // One whose key another request had taken leaves nothing behind.
    expect((await count()) - before).toBe(10);
    const ids = sessions.map(({ id }) => id);
    const [rows] = await fixture.test.admin<{ transactions: string; lines: string; records: string }>(
      `select count(distinct s.xmin::text) as transactions, count(distinct l.session_id) as lines, count(distinct e.session_id) as records
         from checkout.sessions s join checkout.session_lines l on l.session_id = s.id
         join checkout.eligibility_records e on e.session_id = s.id where s.id = any($1)`,
      [ids],
    );
    expect(rows).toMatchObject({ lines: '10', records: '10' });
    expect(Number(rows?.transactions)).toBeLessThan(6);
    for (const [at, key] of keys.entries()) {
      const again = await fixture.session({ ...parts[at % parts.length], idempotency: { key, requestHash: hash(5) } });
      expect(again.id).toBe(ids[at]);
    }
  });

  test('keys of the other mode and of other accounts are other keys', async () => {
    const [row] = await fixture.test.admin<{ count: string }>(
      "select count(*) from checkout.session_keys where key = 'k1' and account_id = $1 and not test_mode",
      [fixture.scope.accountId],
    );
    expect(row?.count).toBe('0');
  });
});
