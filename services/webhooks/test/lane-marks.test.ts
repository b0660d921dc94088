import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sender } from '../src/context.ts';
import { renewLanes } from '../src/store/lanes.ts';
import { asleep, type Fixture, inScope, openFixture, refundEvent, rowsOf, someScope } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

// Plans like a sender that has room, and sends nothing.
const silent: Sender = {
  ...asleep,
  rooms: (_scope, endpoints, most) => new Map(endpoints.map(({ webhookId }) => [webhookId, most])),
};

it('the mark from which a recovery reads a lane moves with each renewal, however fresh the lease is', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1:9/hooks');
  on.webhooks.sender = silent;
  const claimant = { owner: silent.owner, at: on.clock.now(), leaseMs: 60_000 };
  for (let count = 1; count <= 3; count++) {
    await on.consume(refundEvent(scope));
    const latest =
      (await rowsOf(on, 'deliveries', scope))
        .map(({ id }) => String(id))
        .sort()
        .at(-1) ?? '';
    await inScope(on, scope, (tx) => renewLanes(tx, scope, [{ webhookId, oldest: latest }], claimant));
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ handed_from: latest }]);
  }
});
