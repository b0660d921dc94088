import { fillTables, readStatements, type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkoutService } from '../src/service.ts';
import { countChargeWork } from '../src/store/charge-work.ts';

let place: TestDatabase;
beforeAll(async () => {
  place = await testDatabase(checkoutService);
});
afterAll(() => place.drop());

it('the count of attempts in doubt reads none of those that wait for their customers', async () => {
  const awaiting = 20_000;
  // Four wait for no customer. Four waited for one until ten minutes ago, and four until a minute ago. The others still wait, and their checks are due before those of the twelve.
  await fillTables(place, 'checkout', [
    `charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id, processor_payment_method_id,
       off_session, capture_method, amount_cents, status, lease_until, next_check_at, processor_intent_id, acting_at, created_at, authenticate_until)
     select 'facct_' || n, true, 'fatt_' || n, 'invoice', 'finv_' || n, 'health', 'invoice', 'fpi_' || n, 'fpm_' || n, 'pm_' || n,
       false, 'automatic', 505, case when n % 2 = 0 then 'sending' else 'unknown' end, now(),
       now() - case when n > 12 then interval '1 hour' else interval '1 minute' end, 'pi_' || n, now(), now() - interval '2 hours',
       now() + case when n > 12 then interval '22 hours' when n > 8 then interval '-1 minute' when n > 4 then interval '-10 minutes' end
     from generate_series(1, ${12 + awaiting}) n`,
  ]);
  const readings = await readStatements(place);
  expect(await countChargeWork(place.open('checkout'), 300)).toEqual({ attemptsInDoubt: 8, plans: 0, holds: 0 });
  const rows = [...readings].flatMap(([text, reading]) => (text.includes('charge_attempts') ? [reading.rows] : []));
  expect(rows).toHaveLength(1);
  expect(rows[0]).toBeLessThan(20);
});
