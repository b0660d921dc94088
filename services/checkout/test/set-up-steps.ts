import { create, fromBinary } from '@bufbuild/protobuf';
import { withTx } from '@eligo/postgres';
import type { TestCardName } from '@eligo/processor';
import { SubscriptionSchema } from '@eligo/proto/billing/v1/billing';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { createCustomer } from '../src/actions/create-customer.ts';
import { endSetUp } from '../src/actions/end-set-up.ts';
import { type SubscriptionToSetUp, setUpSubscription } from '../src/actions/set-up-subscription.ts';
import type { Context } from '../src/context.ts';
import { followSetUps } from '../src/jobs/follow-set-ups.ts';
import { findSetupIntent } from '../src/store/setup-intents.ts';
import { findSetUp } from '../src/store/subscription-set-ups.ts';
import type { ChargingFixture } from './charging-fixture.ts';

export const aMonthMs = 30 * 24 * 3_600_000;
/** What tests make due is due a second ago: due times are kept in rounded milliseconds. */
export const past = "now() - interval '1 second'";

/** What happens to the set-up of the card of a subscription, step by step. */
export function setUpSteps(using: () => ChargingFixture) {
  const port = () => using().context.processors.of(using().scope);
  const ask = (of: SubscriptionToSetUp, parts: Partial<SubscriptionToSetUp> = {}, context?: Context) =>
    setUpSubscription(context ?? using().context, using().scope, { ...of, ...parts });
  const read = async ({ subscriptionId }: SubscriptionToSetUp) => {
    const setUp = await findSetUp(using().database, using().scope, subscriptionId);
    if (setUp === undefined) throw new Error('no set-up');
    return setUp;
  };
  const intentOf = async (of: SubscriptionToSetUp) =>
    findSetupIntent(using().database, using().scope, (await read(of)).setupIntentId);
  const newCustomer = () =>
    createCustomer(using().context, using().scope, {
      ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
      testClockId: null,
    });
  /** A subscription of a customer, with the card of this name; or of a customer without any, whom the processor does not know. */
  const subscriptionWith = async (card?: TestCardName): Promise<SubscriptionToSetUp> => {
    const made = card === undefined ? await newCustomer() : await using().card(card);
    return {
      ...{ subscriptionId: newId('subscription'), customerId: made.customerId, expiresInMs: aMonthMs, giveUp: false },
      paymentMethodId: 'id' in made ? made.id : null,
    };
  };
  /** What the customer does in the browser with the secret: another card. */
  const gives = async (of: SubscriptionToSetUp, card: TestCardName) => {
    const made = await port().testBank?.createPaymentMethod({ card }, { idempotencyKey: newId('payment_method') });
    if (made?.kind !== 'found') throw new Error('no card was made');
    const { processorSetupIntentId } = await read(of);
    const key = { idempotencyKey: newId('payment_method') };
    return port().confirmSetupIntent(processorSetupIntentId ?? '', { paymentMethod: made.paymentMethodId }, key);
  };
  const answersBank = async (of: SubscriptionToSetUp, passed: boolean) =>
    port().testBank?.authenticate((await read(of)).processorSetupIntentId ?? '', passed);
  const told = async (of: SubscriptionToSetUp) => {
    const rows = await using().test.admin<{ payload: Buffer }>(
      "select payload from checkout.outbox where type = 'command.card.set_up' and aggregate_id = $1",
      [(await read(of)).setupIntentId],
    );
    return rows.map(({ payload }) => fromBinary(EventSchema, payload).object.value);
  };
  const pass = ({ subscriptionId }: SubscriptionToSetUp, parts = `next_check_at = ${past}`) =>
    using().test.admin(`update checkout.subscription_set_ups set ${parts} where subscription_id = $1`, [
      subscriptionId,
    ]);
  const sweep = async (context = using().context) => {
    const job = followSetUps(context);
    while ((await job.run(new AbortController().signal)) === true);
  };
  const subscription = (of: SubscriptionToSetUp, status: string, card?: string) =>
    create(SubscriptionSchema, {
      ...{ subscriptionId: of.subscriptionId, customerId: of.customerId, status, createdAtMs: 1n },
      ...{ currentPeriodStartMs: 1n, ...(card === undefined ? {} : { defaultPaymentMethodId: card }) },
    });
  /** Billing tells of the subscription. */
  const hears = (of: SubscriptionToSetUp, status: string, card?: string) =>
    withTx(using().database, using().scope, (tx) =>
      endSetUp(using().context, tx, using().scope, subscription(of, status, card)),
    );
  return { port, ask, read, intentOf, subscriptionWith, gives, answersBank, told, pass, sweep, hears };
}
