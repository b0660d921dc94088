import { create } from '@bufbuild/protobuf';
import { handleOnce } from '@eligo/events';
import { SubscriptionSchema } from '@eligo/proto/billing/v1/billing';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { renewals } from '../src/consumers/renewals.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

let lastSeq = 0;
const monthEnd = Date.parse('2026-04-01T12:00:00Z');

async function renewalAfter(
  sessionId: string,
  parts: { status: string; cancelAtPeriodEnd?: boolean; cancelAtMs?: bigint },
  seq = ++lastSeq,
): Promise<number | undefined> {
  const value = create(SubscriptionSchema, {
    ...{ checkoutSessionId: sessionId, currentPeriodEndMs: BigInt(monthEnd) },
    ...parts,
  });
  const event = create(EventSchema, {
    ...{
      eventId: newId('event'),
      type: 'customer.subscription.updated',
      aggregateId: 'fsub_1',
      aggregateSeq: BigInt(seq),
    },
    ...fixture.scope,
    object: { case: 'subscription', value },
  });
  const { consumer, handle } = renewals(fixture.context);
  await handleOnce(fixture.database, consumer, event, handle);
  return (await loadSession(fixture.database, fixture.scope, sessionId))?.renewalAsOf?.getTime();
}

it('a session shows when the subscription that it sold renews next, and nothing once it does not [D14.38]', async () => {
  const { id } = await fixture.session();
  expect(await renewalAfter(id, { status: 'active' })).toBe(monthEnd);
  expect(await renewalAfter(id, { status: 'active', cancelAtPeriodEnd: true })).toBeUndefined();
  expect(await renewalAfter(id, { status: 'active', cancelAtMs: BigInt(monthEnd + 1) })).toBe(monthEnd);
  expect(await renewalAfter(id, { status: 'active', cancelAtMs: BigInt(monthEnd) })).toBeUndefined();
  expect(await renewalAfter(id, { status: 'past_due' })).toBe(monthEnd);
  expect(await renewalAfter(id, { status: 'canceled' })).toBeUndefined();
});

it('an event that comes after a later one, or again, changes nothing', async () => {
  const { id } = await fixture.session();
  expect(await renewalAfter(id, { status: 'active' }, 3)).toBe(monthEnd);
  expect(await renewalAfter(id, { status: 'canceled' }, 5)).toBeUndefined();
  expect(await renewalAfter(id, { status: 'active' }, 4), 'an older one').toBeUndefined();
  expect(await renewalAfter(id, { status: 'active' }, 5), 'the same one').toBeUndefined();
  expect(await renewalAfter(id, { status: 'active' }, 6)).toBe(monthEnd);
});

it('the database refuses to go back to an earlier event', async () => {
  const { id } = await fixture.session();
  await renewalAfter(id, { status: 'active' }, 7);
  const back = fixture.test.admin('update checkout.renewal_notes set subscription_seq = 6 where session_id = $1', [id]);
  await expect(back).rejects.toMatchObject({ constraint: 'renewals_are_told_in_order' });
});

it('a subscription that no session sold, or one of another account, changes nothing', async () => {
  const { id } = await fixture.session();
  expect(await renewalAfter(newId('checkout_session'), { status: 'active' })).toBeUndefined();
  expect((await loadSession(fixture.database, fixture.scope, id))?.renewalAsOf).toBeNull();
});
