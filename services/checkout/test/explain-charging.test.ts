import { plansOf } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { confirmSession } from '../src/actions/confirm-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Charging } from '../src/charging.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { countChargeWork } from '../src/store/charge-work.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());

// The sweeper's, which run as the finder through functions.
const acrossAccounts = /due_charge_work|charge_work_waiting/;

test('every statement that moves money finds its rows by an index that leads with account and mode', async () => {
  const database = world.test.open('checkout', { max: 1 });
  const charging: Charging = { ...world.charging, database };
  await payAndRefund(charging);
  await payWithTrouble(charging);
  await countChargeWork(database, 0);
  const { adminUrl } = world.test;
  const { checked, faults } = await plansOf({ name: 'checkout', database, adminUrl, acrossAccounts });
  expect(checked).toBeGreaterThan(45);
  expect(faults).toEqual([]);
});

const pay = (charging: Charging, session: Session, cards: PaymentMethod[]) =>
  completeSession(charging, world.scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
  });

async function payAndRefund(charging: Charging): Promise<void> {
  const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
  const session = await world.mixedSession(hsa);
  await pay(charging, session, [hsa, credit]);
  const refundId = newId('refund');
  await reserveRefund(charging, world.scope, {
    ...{ refundId, sessionId: session.id, paymentIntentId: null, features: [], preview: false },
    instruction: {
      ...{ amount: undefined, entries: [], tax: undefined, shipping: undefined, discount: undefined, methods: [] },
    },
  });
  await releaseRefund(charging, world.scope, refundId, []);
  await chargeInvoice(charging, world.scope, {
    operationId: newId('charge_attempt'),
    invoiceId: newId('invoice'),
    subscriptionId: null,
    ...{ customerId: hsa.customerId, paymentMethodId: hsa.id, amountCents: cents(900), leg: 'health', at: new Date() },
  });
}

// Lost answers, declines, given-up attempts, holds that are let go and one that is gone.
async function payWithTrouble(charging: Charging): Promise<void> {
  const [hsa, credit, declined] = await Promise.all([world.card('hsa'), world.card('credit'), world.card('declined')]);
  await pay(charging, await world.mixedSession(hsa), [hsa, declined]);
  const waiting = await world.mixedSession(hsa);
  await pay(charging, waiting, [hsa]);
  await cancelSession({ ...world.resources, database: charging.database }, world.scope, waiting.id);
  const lost = await world.mixedSession(hsa);
  await world.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
  await pay(charging, lost, [hsa, credit]);
  await world.cancelAtProcessor(lost, 'health');
  for (const call of ['payment_intents.create', 'payment_intents.confirm']) {
    const card = await world.card('hsa');
    const session = await world.mixedSession(card);
    await world.fault({ call, kind: 'drop_after', times: 1 });
    const request = { sessionId: session.id, paymentMethodId: card.id, captureMethod: null, expand: [], features: [] };
    await expect(
      confirmSession(charging, world.scope, { ...request, key: call, requestHash: Buffer.alloc(32) }),
    ).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
  }
  for (let round = 0; round < 4; round++) {
    await world.lapseLeases();
    await sweepCharges(charging);
  }
}
