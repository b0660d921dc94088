import { withTx } from '@eligo/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChargeAttempt } from '../src/domain/charge-attempt.ts';
import { claimAttempt, findAttempt } from '../src/store/charge-attempts.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

// Begun by a confirm whose answer to the creation was lost, and then in the hand of whoever claims it.
async function claimed(leaseMs: number): Promise<ChargeAttempt> {
  const card = await fixture.card('hsa');
  const session = await fixture.mixedSession(card);
  await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
  await expect(fixture.confirm(session, card)).rejects.toThrow();
  const [row] = await fixture.test.admin<{ id: string }>(
    'select id from checkout.charge_attempts where subject_id = $1',
    [session.id],
  );
  return claim(row?.id ?? '', leaseMs);
}

async function claim(id: string, leaseMs: number): Promise<ChargeAttempt> {
  const attempt = await withTx(fixture.database, fixture.scope, (tx) => claimAttempt(tx, fixture.scope, id, leaseMs));
  if (attempt === undefined) throw new Error('an attempt that nobody holds');
  return attempt;
}

const pass = (attempt: ChargeAttempt, callMs: number) =>
  fixture.context.groups.fences.submit(fixture.scope, { attempt, processorIntentId: 'pi_fenced', callMs });
const sends = async ({ id }: ChargeAttempt) => (await findAttempt(fixture.database, fixture.scope, id))?.sends;

describe('the fence before a send', () => {
  it('is not passed by a process that lost the attempt to another, however long its own lease was', async () => {
    const first = await claimed(60_000);
    await fixture.lapseLeases();
    const second = await claim(first.id, 60_000);
    expect(await pass(first, 1_000)).toBeUndefined();
    expect(await sends(first)).toBe(0);
    expect(await pass(second, 1_000)).toMatchObject({ status: 'sending', sends: 1 });
  });

  it('is not passed with less time left than the call may take', async () => {
    const attempt = await claimed(5_000);
    expect(await pass(attempt, 5_001)).toBeUndefined();
    expect(await sends(attempt)).toBe(0);
  });
});
