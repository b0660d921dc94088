import type { ThreeDSecure } from '@eligo/processor';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { createSession } from '../src/actions/create-session.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, sessionMessage } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

/** The actions, and what each intent and set-up asks the processor for. */
function asking() {
  const asked: (ThreeDSecure | undefined)[] = [];
  const context = fixture.contextWith((port) => ({
    createIntent(input, call) {
      asked.push(input.threeDSecure);
      return port.createIntent(input, call);
    },
    createSetupIntent(input, call) {
      asked.push(input.threeDSecure);
      return port.createSetupIntent(input, call);
    },
  }));
  const pay = (session: Session, cards: readonly PaymentMethod[]) =>
    completeSession(context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
    });
  // An off-session session charges its card when it is created.
  const create = (parts: Parameters<typeof sessionMessage>[0]) =>
    createSession(context, fixture.call, sessionRequestOf(sessionMessage(parts)));
  return { asked, context, create, pay };
}

it.each(['automatic', 'any', 'challenge'] as const)(
  '%s is asked for with each card of the page [D14.178]',
  async (kind) => {
    const { asked, pay } = asking();
    const [hsa, credit] = [await fixture.card('hsa'), await fixture.card('credit')];
    const session = await fixture.mixedSession(hsa, { requestThreeDSecure: kind });
    expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'complete' });
    expect(asked).toEqual([kind, kind]);
  },
);

it('is asked for when a card is set up, by a key of its own [D14.178]', async () => {
  const { asked, pay } = asking();
  const card = await fixture.card('credit');
  const session = await fixture.session({
    ...{ mode: 'setup', lines: [], customerId: card.customerId },
    requestThreeDSecure: 'any',
  });
  expect(await pay(session, [card])).toMatchObject({ status: 'complete' });
  expect(asked).toEqual(['any']);
});

it('is not asked for where nobody is there: a session without one, and a charge without its owner [D14.178]', async () => {
  const { asked, context, create, pay } = asking();
  const card = await fixture.card('authentication_supported', { offSession: true });
  const plain = await fixture.session({ lines: [line({ unitAmount: 5_000 })], customerId: card.customerId });
  expect(await pay(plain, [card])).toMatchObject({ status: 'complete' });
  const absent = await create({
    ...{ mode: 'off_session', lines: [line({ unitAmount: 5_000 })], requestThreeDSecure: 'challenge' },
    ...{ customerId: card.customerId, paymentMethodId: card.id },
  });
  expect(absent).toMatchObject({ status: 'complete' });
  const confirmed = await fixture.mixedSession(card, { requestThreeDSecure: 'challenge' });
  expect((await fixture.confirm(confirmed, card, {}, context)).session).toMatchObject({ status: 'complete' });
  expect(asked).toEqual([undefined, undefined, undefined]);
});

it('a card that needs authentication all the same is declined where nobody is there [D14.178]', async () => {
  const card = await fixture.card('authentication_required', { offSession: true });
  const session = await fixture.session({
    ...{ mode: 'off_session', lines: [line({ unitAmount: 5_000 })], requestThreeDSecure: 'challenge' },
    ...{ customerId: card.customerId, paymentMethodId: card.id },
  });
  expect(session).toMatchObject({
    ...{ status: 'open', nextAction: { type: 'payment_failed', errorCode: 'authentication_required' } },
  });
  expect(await fixture.charges(session)).toMatchObject([{ status: 'failed' }]);
});
