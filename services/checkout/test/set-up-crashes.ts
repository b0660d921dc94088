import type { FaultKind } from '@eligo/sandbox';
import { armFailpoint, FailpointError, listFailpoints, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { beforeEach, describe, expect, it } from 'vitest';
import type { SubscriptionToSetUp } from '../src/actions/set-up-subscription.ts';
import { isSettled } from '../src/domain/subscription-set-up.ts';
import { type ChargeFailpoint, chargeFailpoints } from '../src/failpoints.ts';
import { findSetUp } from '../src/store/subscription-set-ups.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { setUpSteps } from './set-up-steps.ts';

const isLong = process.env.ELIGO_TEST_LONG === 'on';

/** Those that the ways pass, in their order. */
const failpoints: readonly ChargeFailpoint[] = [
  ...(['customer.made', 'card_set_up.before_begin_commit', 'card_set_up.begun', 'card_set_up.claimed'] as const),
  ...(['card_set_up.intent_created', 'card_set_up.intent_named', 'card_set_up.confirmed'] as const),
  ...(['card_set_up.canceled', 'card_set_up.before_wait_commit', 'card_set_up.waits'] as const),
  ...(['card_set_up.before_save_commit', 'card_set_up.saved', 'card_set_up.before_end_commit'] as const),
  ...(['card_set_up.ended', 'card_set_up.before_give_up_commit'] as const),
];

/** How a set-up comes to its end, and how it stands then. */
interface Way {
  readonly name: string;
  begin(): Promise<SubscriptionToSetUp>;
  /** Each is asked again until it is done; only the first, the request of a client, may be asked once and never again. */
  readonly steps: readonly ((of: SubscriptionToSetUp) => Promise<unknown>)[];
  /** How it stands where every step is done, and how often billing is told of a card. */
  readonly end: 'saved' | 'canceled';
  readonly told: 0 | 1;
  /** The calls to the processor at which it can fail. */
  readonly calls: readonly string[];
}

/** Tests of the set-up of the card of a subscription whose process dies, or whose calls to the processor fail. */
export function setUpCrashTests(using: () => ChargingFixture): void {
  const { ask, read, intentOf, subscriptionWith, gives, answersBank, told, pass, sweep, hears } = setUpSteps(using);
  // Set-ups that other tests have left waiting are due again after 15 s: the job would look at them, too, and pass failpoints for them.
  beforeEach(async () => {
    await using().test.admin(
      "update checkout.subscription_set_ups set next_check_at = now() + interval '1 hour' where status in ('beginning', 'waiting')",
    );
  });
  const asks = (of: SubscriptionToSetUp) => ask(of);
  const looks = async (of: SubscriptionToSetUp) => {
    await pass(of);
    await sweep();
  };
  const makes = ['setup_intents.create', 'setup_intents.retrieve'];
  const makesAll = ['customers.create', ...makes];
  const ways: readonly Way[] = [
    {
      name: 'a card that needs no customer',
      ...{ begin: () => subscriptionWith('credit'), steps: [asks], end: 'saved', told: 0 },
      calls: ['setup_intents.create', 'setup_intents.confirm'],
    },
    {
      name: 'a card that its customer gives',
      begin: () => subscriptionWith(),
      steps: [asks, (of) => gives(of, 'hsa'), looks],
      ...{ end: 'saved', told: 1, calls: [...makesAll, 'payment_methods.retrieve'] },
    },
    {
      name: 'a card whose bank asks',
      begin: () => subscriptionWith('authentication_required'),
      steps: [asks, (of) => answersBank(of, true), looks],
      ...{ end: 'saved', told: 1, calls: [...makes, 'setup_intents.confirm'] },
    },
    {
      name: 'a card that is declined, and another one',
      begin: () => subscriptionWith('declined'),
      steps: [asks, (of) => gives(of, 'debit'), looks],
      ...{ end: 'saved', told: 1, calls: [...makes, 'setup_intents.confirm', 'payment_methods.retrieve'] },
    },
    {
      name: 'the end of the subscription',
      begin: () => subscriptionWith(),
      steps: [asks, (of) => hears(of, 'canceled'), looks],
      ...{ end: 'canceled', told: 0, calls: [...makesAll, 'setup_intents.cancel'] },
    },
    {
      name: 'another card in its place',
      begin: () => subscriptionWith('authentication_required'),
      steps: [asks, (of) => hears(of, 'trialing', newId('payment_method')), looks],
      ...{ end: 'canceled', told: 0, calls: [...makes, 'setup_intents.confirm', 'setup_intents.cancel'] },
    },
    {
      name: 'the end of the first period',
      begin: () => subscriptionWith(),
      steps: [asks, (of) => ask(of, { giveUp: true })],
      ...{ end: 'canceled', told: 0, calls: [...makesAll, 'setup_intents.cancel'] },
    },
    {
      name: 'a customer who is faster than the end of the first period',
      begin: () => subscriptionWith(),
      steps: [asks, (of) => gives(of, 'credit'), (of) => ask(of, { giveUp: true })],
      ...{ end: 'saved', told: 1, calls: [...makesAll, 'payment_methods.retrieve'] },
    },
  ];

  /** Goes the way. After a step that failed the job looks; what is asked again is asked until it is done. */
  const go = async ({ steps, end }: Way, of: SubscriptionToSetUp, asksAgain: boolean) => {
    for (const [index, step] of steps.entries()) {
      for (let tries = 0; ; tries += 1) {
        try {
          await step(of);
          break;
        } catch (error) {
          const isExpected = error instanceof FailpointError || (error as { code?: string }).code === unavailable;
          if (!isExpected || tries > 4) throw error;
          await looks(of);
        }
        if (index === 0 && !asksAgain) break;
      }
      // It was never begun, and the client does not come back.
      if ((await find(of)) === undefined) return;
    }
    for (let looked = 0; !isSettled(await read(of)) && looked < 5; looked += 1) await looks(of);
    expect(await read(of)).toMatchObject({ status: end });
  };
  const unavailable = 'service_unavailable';
  const find = ({ subscriptionId }: SubscriptionToSetUp) => findSetUp(using().database, using().scope, subscriptionId);

  /** The model: one set-up intent at the processor, which is over, or none if nothing was begun; billing is told once of a card that a customer set up. */
  const stands = async (way: Way, of: SubscriptionToSetUp) => {
    const atProcessor = await using().setUpIntents(of.customerId);
    if ((await find(of)) === undefined) return expect(atProcessor).toEqual([]);
    const { savedCardId, processorSetupIntentId } = await read(of);
    const status = way.end === 'saved' ? 'succeeded' : 'canceled';
    expect(atProcessor).toEqual([expect.objectContaining({ id: processorSetupIntentId, status })]);
    expect(await intentOf(of)).toMatchObject({ status, ...(savedCardId !== null && { paymentMethodId: savedCardId }) });
    expect((await told(of)).length).toBe(way.told);
    const cards = await using().test.admin<{ id: string }>(
      'select id from checkout.payment_methods where customer_id = $1 and id is distinct from $2',
      [of.customerId, of.paymentMethodId],
    );
    const isOther = savedCardId !== null && savedCardId !== of.paymentMethodId;
    expect(cards.map(({ id }) => id)).toEqual(isOther ? [savedCardId] : []);
  };

  const hits = () => new Map(listFailpoints().map(({ name, hits: passed }) => [name, passed]));
  /** How often a way passes each failpoint where nothing fails. */
  const passesOf = async (way: Way) => {
    const of = await way.begin();
    turnFailpointsOn();
    const before = hits();
    await go(way, of, true);
    const after = hits();
    turnFailpointsOff();
    await stands(way, of);
    return failpoints.flatMap((name) => {
      const times = (after.get(name) ?? 0) - (before.get(name) ?? 0);
      return Array.from({ length: times }, (_, skip) => ({ name, skip }));
    });
  };

  describe('the set-up of the card of a subscription, when its process dies', () => {
    const passed = new Set<string>();

    it.each(ways.map((way) => ({ way, name: way.name })))(
      'at any failpoint, with $name: makes one set-up intent, which is over in the end, and tells billing once [D14.259, D14.273]',
      async ({ way }) => {
        for (const [index, crash] of (await passesOf(way)).entries()) {
          passed.add(crash.name);
          for (const asksAgain of isLong ? [true, false] : [index % 2 === 0]) {
            const of = await way.begin();
            turnFailpointsOn();
            armFailpoint(crash.name, { action: 'error', skip: crash.skip });
            await go(way, of, asksAgain);
            const { armed } = listFailpoints().find(({ name }) => name === crash.name) ?? {};
            turnFailpointsOff();
            expect(armed, crash.name).toBeUndefined();
            await stands(way, of);
          }
        }
      },
      120_000,
    );

    it('passes each failpoint of set-ups', () => {
      expect(failpoints.filter((name) => !passed.has(name))).toEqual([]);
      const ofSetUps = chargeFailpoints.filter((name) => name.startsWith('card_set_up.'));
      expect(ofSetUps.filter((name) => !failpoints.includes(name))).toEqual([]);
    });
  });

  const kinds: readonly FaultKind[] = [
    ...(['error_before', 'error_after', 'drop_before'] as const),
    ...(['drop_after', 'in_progress', 'rate_limited'] as const),
  ];
  const faults = ways.flatMap((way, row) =>
    way.calls.flatMap((call, at) => {
      const of = { way, name: way.name, call };
      if (!isLong) return [{ ...of, kind: kinds[(row + at) % kinds.length] as FaultKind, asksAgain: row % 2 === 0 }];
      return kinds.flatMap((kind) => [true, false].map((asksAgain) => ({ ...of, kind, asksAgain })));
    }),
  );
  it.each(faults)(
    'the set-up of the card of a subscription, with $name, makes one set-up intent whatever becomes of $call: $kind, asked again: $asksAgain [D14.259, D14.273]',
    async ({ way, call, kind, asksAgain }) => {
      const of = await way.begin();
      await using().fault({ call, kind, times: 1 });
      await go(way, of, asksAgain);
      await using().clearFaults();
      await stands(way, of);
    },
  );
}
