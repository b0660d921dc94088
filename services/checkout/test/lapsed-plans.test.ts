import { untilLockWait } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { pay } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

it('a plan that waits again for its second card, since its sweep has found it, is not released before its hour [D13.4]', async () => {
  const hsa = await fixture.card('hsa');
  const session = await fixture.mixedSession(hsa);
  await pay(fixture, session, [hsa]);
  const releaseAt = (time: string) =>
    fixture.test.admin(`update checkout.payment_plans set release_at = now() ${time} where session_id = $1`, [
      session.id,
    ]);
  await releaseAt("- interval '1 second'");
  const other = new pg.Client(fixture.test.adminUrl);
  await other.connect();
  try {
    await other.query('begin');
    await other.query('select from checkout.sessions where id = $1 for update', [session.id]);
    const sweep = sweepCharges(fixture.context);
    await untilLockWait(fixture.test.admin, 'the sweep');
    await releaseAt("+ interval '1 hour'");
    await other.query('commit');
    await sweep;
  } finally {
    await other.end();
  }
  const plans = () =>
    fixture.test.admin('select state from checkout.payment_plans where session_id = $1', [session.id]);
  expect(await plans()).toEqual([{ state: 'awaiting_second_card' }]);
  await releaseAt("- interval '1 second'");
  await sweepCharges(fixture.context);
  expect(await plans()).toEqual([{ state: 'failed' }]);
  expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({ status: 'open' });
});
