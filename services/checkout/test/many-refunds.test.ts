import { growths, type Readings, readStatements, seededAccount, testDatabase, vacuumDeleted } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { expect, test } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { checkoutService } from '../src/service.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

test('after 200 partial refunds of a session of 100 lines, the next one reads no more than after the first', async () => {
  const [few, many] = [await readAfter(1), await readAfter(200)];
  expect(growths(few, many)).toEqual([]);
}, 120_000);

// What one more refund, its release and the session read when the session has had so many.
async function readAfter(refunds: number): Promise<Readings> {
  const place = await testDatabase(checkoutService);
  const options = { test: place, accountId: seededAccount, pool: { statementTimeoutMs: 30_000 } };
  const before = await openChargingFixture({}, options);
  const sessionId = await sell(before);
  for (let n = 0; n < refunds; n++) await refund(before, sessionId);
  const tables = await place.admin<{ name: string }>(
    "select relid::regclass::text as name from pg_stat_user_tables where schemaname = 'checkout'",
  );
  await vacuumDeleted(
    place,
    tables.map(({ name }) => name),
  );
  const readings = await readStatements(place);
  const fixture = await openChargingFixture({}, options);
  const last = await refund(fixture, sessionId);
  await loadSession(fixture.database, fixture.scope, sessionId);
  await loadSessionLines(fixture.database, fixture.scope, sessionId);
  await releaseRefund(fixture.context, fixture.scope, last, []);
  await before.close();
  await fixture.close();
  return readings;
}

async function sell(fixture: ChargingFixture): Promise<string> {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const lines = Array.from({ length: 100 }, (_none, n) =>
    n % 2 === 0 ? line({ unitAmount: 4_000, class: 'auto_substantiation' }) : line({ unitAmount: 6_000 }),
  );
  const session = await fixture.mixedSession(hsa, { lines });
  const paid = await completeSession(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
  });
  expect(paid.status).toBe('complete');
  return session.id;
}

// A part of each line.
async function refund(fixture: ChargingFixture, sessionId: string): Promise<string> {
  const refundId = newId('refund');
  await reserveRefund(fixture.context, fixture.scope, {
    ...{ refundId, sessionId, paymentIntentId: null, features: [], preview: false },
    instruction: { amount: cents(1_000), entries: [], methods: [] },
  });
  return refundId;
}
