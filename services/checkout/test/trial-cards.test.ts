import { fromBinary } from '@bufbuild/protobuf';
import { scoped, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { readPage } from '../src/actions/read-page.ts';
import type { Context } from '../src/context.ts';
import type { CardSlot } from '../src/domain/card-kind.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { findPageCard } from '../src/store/page-cards.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findBackupOf, findSetupIntent, listSetupIntents } from '../src/store/setup-intents.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { type LineFacts, line } from './fixture.ts';

let fixture: ChargingFixture;
let owner: PaymentMethod & { customerId: string };
beforeAll(async () => {
  fixture = await openChargingFixture();
  owner = await fixture.card('credit');
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const eligible: LineFacts = { unitAmount: 4_000, class: 'auto_substantiation', recurring: true };
const ineligible: LineFacts = { unitAmount: 6_000, recurring: true };
const letter: LineFacts = { unitAmount: 3_000, class: 'letter_of_medical_necessity', recurring: true };
const trial = (lines = [eligible, ineligible], subscriptionData: object = {}) =>
  fixture.session({
    ...{ mode: 'subscription', lines: lines.map(line), customerId: owner.customerId },
    subscriptionData: { trialPeriodDays: 14, ...subscriptionData },
  });
const card = (name: string) => fixture.card(name, { customerId: owner.customerId });
const begin = (session: Session, cards: readonly PaymentMethod[], more: object = {}, context?: Context) =>
  completeSession(context ?? fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null, ...more },
  });

// The cards of the subscription that billing is told to make; undefined while it is told of none.
async function sold({
  id,
}: Session): Promise<{ standard: string | undefined; backup: string | undefined } | undefined> {
  const commands = await fixture.test.admin<{ payload: Uint8Array }>(
    "select payload from checkout.outbox where aggregate_id = $1 and type = 'command.subscription.start'",
    [id],
  );
  expect(commands.length).toBeLessThanOrEqual(1);
  const [command] = commands;
  if (command === undefined) return undefined;
  const { object } = fromBinary(EventSchema, command.payload);
  if (object.case !== 'startSubscription') throw new Error('not the command');
  return { standard: object.value.defaultPaymentMethodId, backup: object.value.backupPaymentMethodId };
}

// The cards that were set up for a session, the first one and its backup.
async function setUpFor({ setupIntentId }: Session): Promise<unknown[]> {
  const { database, scope } = fixture;
  const main = await findSetupIntent(database, scope, setupIntentId ?? '');
  const backup = await findBackupOf(database, scope, setupIntentId ?? '');
  return [main, backup].map((intent) => intent && [intent.status, intent.paymentMethodId]);
}

describe('a trial of a mixed cart', () => {
  it('refuses a second health card before a bank is asked, and the first one keeps its place [D14.375]', async () => {
    const [hsa, fsa, credit] = [await card('hsa'), await card('fsa'), await card('credit')];
    const session = await trial();
    const refused = { code: 'other_payment_method_required' };
    await expect(begin(session, [hsa, fsa])).rejects.toMatchObject(refused);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.setupIntentId ?? null).toBeNull();
    const waiting = await begin(session, [hsa]);
    expect(waiting.nextAction).toMatchObject({ type: 'provide_second_payment_method' });
    await expect(begin(session, [fsa])).rejects.toMatchObject(refused);
    expect((await begin(session, [hsa])).nextAction).toEqual(waiting.nextAction);
    expect(await sold(await begin(session, [credit]))).toEqual({ standard: hsa.id, backup: credit.id });
  });

  it.each(['health first', 'other first'])(
    'keeps both cards: the health card is charged by default and the other one for the remainder, %s [D14.180]',
    async (order) => {
      const [hsa, credit] = [await card('hsa'), await card('credit')];
      const cards = order === 'health first' ? [hsa, credit] : [credit, hsa];
      const done = await begin(await trial(), cards);
      expect(done).toMatchObject({ status: 'complete', amountReceivedCents: 0, nextAction: null });
      expect(await sold(done)).toEqual({ standard: hsa.id, backup: credit.id });
      expect(await setUpFor(done)).toEqual([
        ['succeeded', hsa.id],
        ['succeeded', credit.id],
      ]);
      expect(await fixture.charges(done)).toEqual([]);
    },
  );

  it('waits for a second card where only a health card was given, and keeps that one [D14.180]', async () => {
    const [hsa, credit] = [await card('hsa'), await card('credit')];
    const session = await trial();
    const waiting = {
      status: 'open',
      nextAction: {
        ...{ type: 'provide_second_payment_method', url: session.details.redirectUrl },
        ...{ eligibleAmountCents: 4_000, ineligibleAmountCents: 6_000 },
      },
    };
    expect(await begin(session, [hsa])).toMatchObject(waiting);
    // Neither the same card again nor none at all is the second card.
    for (const cards of [[hsa], []]) expect(await begin(session, cards)).toMatchObject(waiting);
    expect(await sold(session)).toBeUndefined();
    const done = await begin(session, [credit]);
    expect(done).toMatchObject({ status: 'complete', nextAction: null });
    const [main] = await setUpFor(done);
    expect(main).toMatchObject(['succeeded', (await sold(done))?.standard]);
    expect(await sold(done)).toMatchObject({ backup: credit.id });
  });

  it('begins with the other card alone, which pays everything', async () => {
    const credit = await card('credit');
    const done = await begin(await trial(), [credit]);
    expect(done.status).toBe('complete');
    expect(await sold(done)).toEqual({ standard: credit.id, backup: undefined });
  });

  it('does not begin if either card is declined, and begins with others then [D14.111, D14.180]', async () => {
    const [hsa, credit, declined] = [await card('hsa'), await card('credit'), await card('declined')];
    const session = await trial();
    const refused = await begin(session, [hsa, declined], { slots: ['health', 'other'] });
    expect(refused).toMatchObject({ status: 'open', nextAction: { type: 'payment_failed' } });
    expect(await sold(session)).toBeUndefined();
    const done = await begin(session, [hsa, credit]);
    expect(done.status).toBe('complete');
    expect(await sold(done)).toEqual({ standard: hsa.id, backup: credit.id });
    expect(await setUpFor(done)).toEqual([
      ['succeeded', hsa.id],
      ['succeeded', credit.id],
    ]);
  });

  it('sells the cards of its last request alone, not a backup that an earlier one set up', async () => {
    const [hsa, credit, debit] = [await card('hsa'), await card('credit'), await card('debit')];
    const session = await trial();
    await expect(begin(session, [hsa, credit], {}, crashAt('processor', 2))).rejects.toThrow('crashed');
    const finish =
      "update checkout.setup_intents set status = 'succeeded' where session_id = $1 and backup_of is not null returning 1";
    expect(await fixture.test.admin(finish, [session.id])).toHaveLength(1);
    const done = await begin(session, [debit]);
    expect(await sold(done)).toEqual({ standard: debit.id, backup: undefined });
  });

  it('counts a line that needs a letter for the other card: a trial opens no letter [D14.180]', async () => {
    const hsa = await card('hsa');
    const session = await begin(await trial([eligible, letter]), [hsa]);
    expect(session.nextAction).toMatchObject({ eligibleAmountCents: 4_000, ineligibleAmountCents: 3_000 });
  });
});

describe('a trial', () => {
  it.each<[string, LineFacts[], object]>([
    ['the health card may pay everything', [eligible], {}],
    ['it never renews', [eligible, ineligible], { cancelAtPeriodEnd: true }],
  ])(
    'needs no second card where %s; one that is given is kept for the customer, as where a cart is paid [D14.180]',
    async (_why, lines, data) => {
      const hsa = await card('hsa');
      const session = await trial(lines, data);
      const complete = {
        paymentMethod: hsa.id,
        secondPaymentMethod: 'credit',
        refusesHealthCards: false,
        shippingDetails: null,
      };
      const before = await methodsOf(owner.customerId);
      const done = await completeWithCards(fixture.context, fixture.scope, { sessionId: session.id, ...complete });
      expect(done.status).toBe('complete');
      expect(await sold(done)).toEqual({ standard: hsa.id, backup: undefined });
      expect(await methodsOf(owner.customerId)).toBe(before + 1);
    },
  );

  it.each<[string, LineFacts[], object]>([
    ['nothing is eligible', [ineligible], {}],
    ['the shop takes none', [eligible], { refusesHealthCards: true }],
  ])('does not begin with a health card where %s [D14.180]', async (_why, lines, more) => {
    const session = await trial(lines);
    const open = await begin(session, [await card('hsa')], more);
    expect(open).toMatchObject({ status: 'open', nextAction: { type: 'provide_alternative_payment_method' } });
    const credit = await card('credit');
    expect(await begin(session, [credit], more)).toMatchObject({ status: 'complete' });
    expect(await sold(session)).toEqual({ standard: credit.id, backup: undefined });
  });

  it('begins without any card where none is given, as before', async () => {
    const done = await begin(await trial(), []);
    expect(done.status).toBe('complete');
    expect(await sold(done)).toEqual({ standard: undefined, backup: undefined });
  });

  it('refuses a second card that does not exist before any card is set up', async () => {
    const session = await trial();
    const missing = { ...owner, id: newId('payment_method') };
    await expect(begin(session, [await card('hsa'), missing])).rejects.toMatchObject({
      violations: [{ loc: ['body', 'checkout_session', 'second_payment_method'], type: 'payment_method_not_found' }],
    });
    expect((await readPage(fixture.context, fixture.scope, session.id)).session.setupIntentId).toBeNull();
  });

  it('keeps two cards that were typed on its page, and shows what each pays at the renewal [D14.111, D14.180]', async () => {
    const session = await trial();
    expect(await readPage(fixture.context, fixture.scope, session.id)).toMatchObject({
      ...{ dueNowCents: 0, healthCardCents: 0, renewal: { totalCents: 10_000, healthCardCents: 4_000 } },
    });
    const typed = async (token: string, slot: CardSlot) => ({
      ...{ sessionId: session.id, paymentMethod: token, slot, secondPaymentMethod: undefined },
      ...{ shippingDetails: null, onPage: true, refusesHealthCards: false },
    });
    const [first, second] = [await fixture.confirmationToken('tok_hsa'), await fixture.confirmationToken('tok_visa')];
    await completeWithCards(fixture.context, fixture.scope, await typed(first, 'health'));
    const done = await completeWithCards(fixture.context, fixture.scope, await typed(second, 'other'));
    expect(done.status).toBe('complete');
    const ids = await Promise.all(
      [first, second].map(
        async (token) => (await findPageCard(fixture.database, fixture.scope, token))?.paymentMethodId,
      ),
    );
    expect(await sold(done)).toEqual({ standard: ids[0], backup: ids[1] });
    for (const id of ids) {
      const method = await findPaymentMethod(fixture.database, fixture.scope, id ?? '');
      expect(method).toMatchObject({ customerId: owner.customerId, offSession: true });
    }
  });
});

describe('the set-up of two cards', () => {
  it.each([
    ['set_up.reserved', 1],
    ['processor', 1],
    ['set_up.reserved', 2],
    ['processor', 2],
  ] as const)(
    'is finished by the same request after a crash at %s of card %i: each card is set up once [D14.180]',
    async (name, time) => {
      const [hsa, credit] = [await card('hsa'), await card('credit')];
      const session = await trial();
      await expect(begin(session, [hsa, credit], {}, crashAt(name, time))).rejects.toThrow('crashed');
      expect(await sold(session)).toBeUndefined();
      const made: string[] = [];
      const context = fixture.contextWith((port) => ({
        createSetupIntent: (input, call) => {
          made.push(call.idempotencyKey);
          return port.createSetupIntent(input, call);
        },
      }));
      const done = await begin(session, [hsa, credit], {}, context);
      expect(await sold(done)).toEqual({ standard: hsa.id, backup: credit.id });
      // What was done is not asked for again.
      expect(made).toHaveLength(3 - time);
      const { setupIntents } = await listSetupIntents(
        fixture.database,
        fixture.scope,
        { limit: 100 },
        owner.customerId,
      );
      expect(
        setupIntents.filter(({ paymentMethodId }) => [hsa.id, credit.id].includes(paymentMethodId ?? '')),
      ).toHaveLength(2);
    },
  );

  it.each([1, 2])('is asked for again under the same keys when the answer for card %i is lost', async (which) => {
    const [hsa, credit] = [await card('hsa'), await card('credit')];
    const session = await trial();
    const keys: string[] = [];
    const context = fixture.contextWith((port) => ({
      async confirmSetupIntent(id, input, call) {
        keys.push(call.idempotencyKey);
        if (keys.length === which) await fixture.fault({ call: 'setup_intents.confirm', kind: 'drop_after', times: 1 });
        return port.confirmSetupIntent(id, input, call);
      },
    }));
    await expect(begin(session, [hsa, credit], {}, context)).rejects.toMatchObject({ code: 'service_unavailable' });
    const done = await begin(session, [hsa, credit], {}, context);
    expect(await sold(done)).toEqual({ standard: hsa.id, backup: credit.id });
    expect(new Set(keys).size).toBe(2);
    expect(keys).toHaveLength(3);
  });

  it('has one backup for a set-up, and none that is its own, by the table alone [D14.180]', async () => {
    const done = await begin(await trial(), [await card('hsa'), await card('credit')]);
    const insert = scoped(
      'test.second_backup',
      `insert into checkout.setup_intents (account_id, test_mode, id, status, created_at, backup_of) values ($1, $2, $3, 'processing', now(), $4)`,
    );
    const add = (id: string, of: string | null) =>
      withTx(fixture.database, fixture.scope, (tx) => tx.execute(insert, fixture.scope, [id, of]));
    await expect(add(newId('setup_intent'), done.setupIntentId)).rejects.toThrow('setup_intents_one_backup');
    const own = newId('setup_intent');
    await expect(add(own, own)).rejects.toThrow('setup_intents_backup_is_another');
  });
});

// A context in which the process dies before it asks the processor for the n-th card, or before it has written the answer.
function crashAt(place: 'set_up.reserved' | 'processor', time: number): Context {
  let passed = 0;
  const pass = () => {
    passed += 1;
    if (passed === time) throw new Error('crashed');
  };
  if (place === 'set_up.reserved') {
    return { ...fixture.context, failpoint: async (at) => (at === place ? pass() : undefined) };
  }
  return fixture.contextWith((port) => ({
    async confirmSetupIntent(...call) {
      const answer = await port.confirmSetupIntent(...call);
      pass();
      return answer;
    },
  }));
}

async function methodsOf(customerId: string): Promise<number> {
  const rows = await fixture.test.admin('select 1 from checkout.payment_methods where customer_id = $1', [customerId]);
  return rows.length;
}
