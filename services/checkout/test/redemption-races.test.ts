import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { CartDiscountSchema } from '@eligo/proto/catalog/v1/catalog';
import type { CreateSessionRequestSchema } from '@eligo/proto/checkout/v1/checkout';
import { type LateCommit, loseNextCommit } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { changePromoCode } from '../src/actions/change-promo-code.ts';
import { createSession } from '../src/actions/create-session.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { settleCatalogTasks } from '../src/jobs/settle-catalog-tasks.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { type Fixture, openFixture, sessionMessage } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  fixture.catalog.addCode('TEN', { amountOffCents: 100n });
});
afterAll(() => fixture.close());

const percent = JSON.stringify({ couponId: 'fcoup_a', duration: 'once', percentOffBasisPoints: 1000 });
const discounts = [create(CartDiscountSchema, { source: { case: 'couponId', value: percent } })];
/** Checkout, which calls this once a redemption is counted. */
const whenReserved = (then: () => Promise<void> | undefined): Context => ({
  ...fixture.context,
  catalog: {
    ...fixture.context.catalog,
    async reserveRedemption(...call) {
      const answer = await fixture.context.catalog.reserveRedemption(...call);
      await then();
      return answer;
    },
  },
});
const lastCall = () => fixture.catalog.calls.at(-1);

describe('what is redeemed for something whose COMMIT has no answer', () => {
  const isTaskSafe = async (sessionId = '') => {
    const rows = await fixture.test.admin<{ kind: string; is_safe: boolean }>(
      "select kind, due_at > now() + interval '20 seconds' as is_safe from checkout.catalog_tasks where session_id = $1",
      [sessionId],
    );
    expect(rows).toEqual([{ kind: 'release_unless_written', is_safe: true }]);
  };
  const settleTasks = () => settleCatalogTasks(fixture.context).run(new AbortController().signal);

  it.each([
    ['a session', (context: Context) => createSession(context, fixture.call, requestWithCoupon())],
    [
      'the code of a shopper',
      async (context: Context) => {
        const { id } = await fixture.session({ allowPromotionCodes: true });
        return changePromoCode(context, fixture.call, id, 'TEN');
      },
    ],
  ])('stays redeemed for %s that is written later', async (_what, write) => {
    let late: LateCommit | undefined;
    onTestFinished(() => late?.arrive());
    const context = whenReserved(() => {
      late = loseNextCommit(fixture.database);
    });
    await expect(write(context)).rejects.toMatchObject({ code: 'service_unavailable' });
    const reserved = lastCall();
    expect(reserved?.name).toBe('reserveRedemption');
    await isTaskSafe(reserved?.sessionId);
    await late?.arrive();
    await settleTasks();
    expect(lastCall()).toEqual(reserved);
    const kept = await fixture.test.admin(
      'select id from checkout.sessions where id = $1 union all select id from checkout.session_discounts where id = $1',
      [reserved?.sessionId],
    );
    expect(kept).toEqual([{ id: reserved?.sessionId }]);
  });
});

describe('a request that is refused a coupon', () => {
  it('is answered with the session of the same request, which redeemed it and was not written yet [D1.1]', async () => {
    const under = (body: number) => ({ key: 'replaced', requestHash: new Uint8Array(32).fill(body) });
    const old = await fixture.session({ idempotency: under(1) });
    const request = requestWithCoupon({ idempotency: under(2) });
    const looked = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const loc = ['body', 'checkout_session', 'discounts', '0', 'coupon_id'];
    const refused = () => Promise.reject(Failure.invalid(loc, 'coupon_not_applicable', 'coupon_not_applicable'));
    let looks = 0;
    const refusing: Context = {
      ...fixture.context,
      catalog: { ...fixture.context.catalog, resolveCart: refused },
      creationFacts: {
        ...fixture.context.creationFacts,
        // It looks before it is refused, at once afterwards, and once more in the end.
        async submit(...query) {
          looks += 1;
          if (looks === 3) await written.promise;
          const facts = await fixture.context.creationFacts.submit(...query);
          if (looks === 2) looked.resolve();
          return facts;
        },
      },
    };
    let second: Promise<Session> | undefined;
    const reserving = whenReserved(async () => {
      second = createSession(refusing, fixture.call, request);
      second.catch(() => undefined);
      await looked.promise;
    });
    const first = await createSession(reserving, fixture.call, request);
    written.resolve();
    expect((await second)?.id).toBe(first.id);
    expect(first.id).not.toBe(old.id);
  });
});

function requestWithCoupon(parts: MessageInitShape<typeof CreateSessionRequestSchema> = {}) {
  return sessionRequestOf(sessionMessage({ discounts, ...parts }));
}
