import { growths, type Readings, readStatements, seededAccount, testDatabase } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { expect, test } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { checkoutService } from '../src/service.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { line } from './world.ts';

test('after 200 partial refunds of a session of 100 lines, the next one reads no more than after the first', async () => {
  const [few, many] = [await readAfter(1), await readAfter(200)];
  expect(growths(few, many)).toEqual([]);
}, 120_000);

// What one more refund, its release and the session read when the session has had so many.
async function readAfter(refunds: number): Promise<Readings> {
  const place = await testDatabase(checkoutService);
  const options = { test: place, accountId: seededAccount, pool: { statementTimeoutMs: 30_000 } };
  const before = await openChargingWorld({}, options);
  const sessionId = await sell(before);
  for (let n = 0; n < refunds; n++) await refund(before, sessionId);
  await place.admin('vacuum (analyze)');
  const readings = await readStatements(place);
  const world = await openChargingWorld({}, options);
  const last = await refund(world, sessionId);
  await loadSession(world.database, world.scope, sessionId);
  await loadSessionLines(world.database, world.scope, sessionId);
  await releaseRefund(world.charging, world.scope, last, []);
  await before.close();
  await world.close();
  return readings;
}

async function sell(world: ChargingWorld): Promise<string> {
  const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
  const lines = Array.from({ length: 100 }, (_none, n) =>
    n % 2 === 0 ? line({ unitAmount: 4_000, class: 'auto_substantiation' }) : line({ unitAmount: 6_000 }),
  );
  const session = await world.mixedSession(hsa, { lines });
  const paid = await completeSession(world.charging, world.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
  });
  expect(paid.status).toBe('complete');
  return session.id;
}

// A part of each line.
async function refund(world: ChargingWorld, sessionId: string): Promise<string> {
  const refundId = newId('refund');
  await reserveRefund(world.charging, world.scope, {
    ...{ refundId, sessionId, paymentIntentId: null, features: [], preview: false },
    instruction: { amount: cents(1_000), entries: [], methods: [] },
  });
  return refundId;
}
