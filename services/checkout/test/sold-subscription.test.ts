import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { intentMessage } from '../src/messages/intents.ts';
import { sessionMessage as messageOf } from '../src/messages/session.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, start } from './fixture.ts';
import { pay as payOnPage } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const day = 86_400_000;
const pay = (session: Session, ...cards: PaymentMethod[]) => payOnPage(fixture, session, cards);
const sell = (card: PaymentMethod & { customerId: string }, subscriptionData: object = {}) =>
  fixture.session({
    mode: 'subscription',
    lines: [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })],
    customerId: card.customerId,
    subscriptionData,
  });

describe('a session that sells a subscription', () => {
  it('says when the subscription renews: at the end of its first period, or of its trial [D14.38]', async () => {
    const card = await fixture.card('hsa');
    const [monthly, trial] = [await sell(card), await sell(card, { trialPeriodDays: 14 })];
    const month = new Date(start);
    month.setUTCMonth(month.getUTCMonth() + 1);
    expect((await pay(monthly, card)).renewalAsOf).toEqual(month);
    const paid = await pay(trial, card);
    expect(paid.renewalAsOf).toEqual(new Date(start.getTime() + 14 * day));
    expect(messageOf(fixture.scope, paid).renewalAsOfMs).toBe(BigInt(start.getTime() + 14 * day));
  });

  it('says nothing of a renewal that will not be [D14.38]', async () => {
    const card = await fixture.card('hsa');
    const atPeriodEnd = await sell(card, { cancelAtPeriodEnd: true });
    const earlier = await sell(card, { cancelAtMs: BigInt(start.getTime() + day) });
    expect((await pay(atPeriodEnd, card)).renewalAsOf).toBeNull();
    expect((await pay(earlier, card)).renewalAsOf).toBeNull();
  });

  it('names a subscription and an invoice only when there are such: not after a declined card [D14.37]', async () => {
    const [declined, hsa] = [await fixture.card('declined'), await fixture.card('hsa')];
    const session = await sell(declined);
    const open = messageOf(fixture.scope, await pay(session, declined));
    expect([open.status, open.subscriptionId, open.invoiceId]).toEqual(['open', undefined, undefined]);
    const complete = messageOf(fixture.scope, await pay(session, hsa));
    expect(complete).toMatchObject({ status: 'complete', subscriptionId: expect.any(String) });
  });

  it('is named as an invoice by the intent that has paid it, and not by one that was declined [D14.37]', async () => {
    const [declined, hsa] = [await fixture.card('declined'), await fixture.card('hsa')];
    const session = await sell(declined);
    await pay(session, declined);
    const paid = await pay(session, hsa);
    const rows = await fixture.test.admin<{ id: string }>(
      'select id from checkout.payment_intents where session_id = $1 order by id',
      [session.id],
    );
    const intents = await findIntents(
      fixture.database,
      fixture.scope,
      rows.map(({ id }) => id),
    );
    expect(intents.map((intent) => [intent.status, intentMessage(fixture.scope, intent).invoiceId])).toEqual([
      ['requires_payment_method', undefined],
      ['succeeded', paid.invoiceId],
    ]);
  });

  it('keeps the card that a trial began with for the first renewal', async () => {
    const card = await fixture.card('hsa');
    const session = await pay(await sell(card, { trialPeriodDays: 14 }), card);
    expect(session.amountReceivedCents).toBe(0);
    const [command] = await fixture.test.admin<{ payload: Uint8Array }>(
      "select payload from checkout.outbox where aggregate_id = $1 and type = 'command.subscription.start'",
      [session.id],
    );
    const { object } = fromBinary(EventSchema, command?.payload ?? new Uint8Array());
    expect(object).toMatchObject({ case: 'startSubscription', value: { defaultPaymentMethodId: card.id } });
  });

  it('charges a subscription whose trial was over before its session was completed', async () => {
    const card = await fixture.card('hsa');
    const session = await sell(card, { trialEndMs: BigInt(start.getTime() + 3_600_000) });
    fixture.clock.set(new Date(start.getTime() + 2 * 3_600_000));
    expect(await pay(session, card)).toMatchObject({ status: 'complete', amountReceivedCents: 2_500 });
    fixture.clock.set(start);
  });
});
