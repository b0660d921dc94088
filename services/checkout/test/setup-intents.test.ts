import { afterAll, beforeAll, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { listSetupIntents } from '../src/store/setup-intents.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

async function setUp(card: { id: string; customerId: string }): Promise<string> {
  const session = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
  const done = await completeSession(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [card.id], shippingDetails: null },
  });
  return done.setupIntentId ?? '';
}

it('setup intents are listed newest first, in pages, and of one customer if asked', async () => {
  const [ann, bob] = [await fixture.card('credit'), await fixture.card('debit')];
  const made = [await setUp(ann), await setUp(bob), await setUp(ann)];
  const list = async (limit: number, customerId?: string, startingAfter?: string) => {
    const page = { limit, ...(startingAfter === undefined ? {} : { startingAfter }) };
    const { setupIntents, hasMore } = await listSetupIntents(fixture.database, fixture.scope, page, customerId);
    return [setupIntents.map((setup) => setup.id), hasMore];
  };
  expect(await list(10)).toEqual([[...made].reverse(), false]);
  expect(await list(1)).toEqual([[made[2]], true]);
  expect(await list(1, undefined, made[2])).toEqual([[made[1]], true]);
  expect(await list(10, ann.customerId)).toEqual([[made[2], made[0]], false]);
});
