import { scoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeOnPage, completeWithCards } from '../src/actions/complete-with-cards.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { mostDeclines } from '../src/domain/session-declines.ts';
import { findPageCard } from '../src/store/page-cards.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const exceeded = { code: 'checkout_session_payment_tries_exceeded', status: 409 };

const payWith = async (session: Session, paymentMethod: string, second?: string, context = fixture.context) =>
  completeOnPage(context, fixture.scope, {
    ...{
      sessionId: session.id,
      paymentMethod,
      secondPaymentMethod: second,
      slot: second === undefined ? 'other' : 'health',
    },
    ...{ secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
const pay = async (session: Session, token: string) => (await payWith(session, await fixture.typedCard(token))).session;
const declines = async ({ id }: Session) => {
  const { declinesOnPage, declinesByRequest } = (await loadSession(fixture.database, fixture.scope, id)) ?? {};
  return { declinesOnPage, declinesByRequest };
};
const set = ({ id }: Session, column: 'declines_on_page' | 'declines_by_request', count: number) =>
  fixture.test.admin(`update checkout.sessions set ${column} = $2 where id = $1`, [id, count]);
let split: Session;
const mixedGuest = () =>
  fixture.session({
    lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })],
  });
const twoTyped = async () => ({
  ...{
    sessionId: split.id,
    paymentMethod: await fixture.typedCard('tok_hsa'),
    secondPaymentMethod: await fixture.typedCard('tok_visa'),
  },
  ...({ slot: 'health', secondSlot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false } as const),
});
const twoSaved = async () => ({
  ...{ sessionId: split.id, shippingDetails: null },
  paymentMethodIds: [(await fixture.card('hsa')).id, (await fixture.card('credit')).id],
});
const guest = () => fixture.session({ lines: [line({ unitAmount: 6_000 })] });

describe('the cards that are declined for one session', () => {
  it('on its page are twenty: the page takes no more, and a confirm by API goes on [D14.321]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    for (let tries = 1; tries <= mostDeclines.page; tries += 1) {
      const refused = await pay(session, 'tok_chargeDeclined');
      expect(refused).toMatchObject({ status: 'open', nextAction: { type: 'payment_failed' }, declinesOnPage: tries });
    }
    const good = await fixture.typedCard('tok_visa');
    await expect(payWith(session, good)).rejects.toMatchObject(exceeded);
    // Not even asked of the processor.
    expect(await findPageCard(fixture.database, fixture.scope, good)).toBeUndefined();
    expect(await fixture.charges(session)).toHaveLength(20);
    expect((await fixture.confirm(session, hsa)).session).toMatchObject({ status: 'complete' });
    expect(await declines(session)).toEqual({ declinesOnPage: 20, declinesByRequest: 0 });
  });

  it('by API are sixty, and do not keep the shopper from the page [D14.321]', async () => {
    const declined = await fixture.card('declined');
    const session = await fixture.mixedSession(declined);
    await expect(fixture.confirm(session, declined)).rejects.toMatchObject({ code: 'card_declined' });
    expect(await declines(session)).toEqual({ declinesOnPage: 0, declinesByRequest: 1 });
    await set(session, 'declines_by_request', 59);
    await expect(fixture.confirm(session, declined)).rejects.toMatchObject({ code: 'card_declined' });
    const key = 'once too often';
    for (const _ of [1, 2]) await expect(fixture.confirm(session, declined, { key })).rejects.toMatchObject(exceeded);
    expect(await declines(session)).toEqual({ declinesOnPage: 0, declinesByRequest: 60 });
    expect(await pay(session, 'tok_visa')).toMatchObject({ status: 'complete' });
  });

  it('count once for a payment with two cards, and a card that pays counts for nothing [D14.321]', async () => {
    const session = await mixedGuest();
    await payWith(session, await fixture.typedCard('tok_hsa'), await fixture.typedCard('tok_chargeDeclined'));
    expect(await declines(session)).toMatchObject({ declinesOnPage: 1 });
    await payWith(session, await fixture.typedCard('tok_hsa'), await fixture.typedCard('tok_visa'));
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      ...{ status: 'complete', declinesOnPage: 1 },
    });
  });

  it('are those of cards that could not be saved, too [D14.321]', async () => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId });
    await expect(pay(session, 'tok_chargeDeclined')).rejects.toMatchObject({ code: 'card_declined' });
    expect(await declines(session)).toMatchObject({ declinesOnPage: 1 });
    const unsaved = fixture.contextWith(() => ({
      createSetupIntent: async () => ({
        kind: 'declined',
        code: 'card_declined',
        declineCode: undefined,
        chargeId: undefined,
      }),
    }));
    const given = {
      sessionId: session.id,
      paymentMethod: await fixture.typedCard('tok_visa'),
      secondPaymentMethod: undefined,
    };
    const refused = await completeWithCards(unsaved, fixture.scope, {
      ...{ ...given, onPage: true, shippingDetails: null, refusesHealthCards: false },
    });
    expect(refused.nextAction).toMatchObject({ type: 'payment_failed' });
    expect(await declines(session)).toMatchObject({ declinesOnPage: 2 });
    await set(session, 'declines_on_page', 20);
    await expect(pay(session, 'tok_visa')).rejects.toMatchObject(exceeded);
  });

  it('stay at their limit where a bank declines two cards at the same time [D14.321]', async () => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId });
    await set(session, 'declines_on_page', 19);
    const both = Promise.withResolvers<void>();
    let asked = 0;
    const together = fixture.contextWith((port) => ({
      async attachPaymentMethod(...given) {
        asked += 1;
        if (asked === 2) both.resolve();
        await both.promise;
        return port.attachPaymentMethod(...given);
      },
    }));
    const cards = await Promise.all([1, 2].map(() => fixture.typedCard('tok_chargeDeclined')));
    const paid = await Promise.allSettled(cards.map((card) => payWith(session, card, undefined, together)));
    const declined = { status: 'rejected', reason: expect.objectContaining({ code: 'card_declined' }) };
    expect(paid).toEqual([declined, declined]);
    expect(await declines(session)).toMatchObject({ declinesOnPage: 20 });
  });

  it.each([
    ['typed on the page', async (hook: Context) => completeOnPage(hook, fixture.scope, await twoTyped())],
    ['that are saved', async (hook: Context) => completeSession(hook, fixture.scope, await twoSaved())],
  ])(
    'release what a payment with two cards holds, where others use them up meanwhile: cards %s [D14.321]',
    async (_, paid) => {
      const hook = fixture.contextWith((port) => ({
        async confirmIntent(...given) {
          const confirmed = await port.confirmIntent(...given);
          await fixture.test.admin('update checkout.sessions set declines_on_page = 20 where id = $1', [split.id]);
          return confirmed;
        },
      }));
      split = await mixedGuest();
      await paid(hook);
      expect(await loadSession(fixture.database, fixture.scope, split.id)).toMatchObject({
        ...{ status: 'open', amountReceivedCents: 0, nextAction: { type: 'payment_failed' } },
      });
      expect((await fixture.charges(split)).map(({ amount, amount_captured }) => [amount, amount_captured])).toEqual([
        [4_000, 0],
      ]);
      expect(await fixture.told(split)).toMatchObject({ 'payment_intent.canceled': 1 });
    },
  );

  it('stop no charge whose shopper has passed the authentication of the bank [D14.321]', async () => {
    const session = await guest();
    await payWith(session, await fixture.confirmationToken('tok_authenticationRequired'));
    await set(session, 'declines_on_page', 20);
    const sent = 'select processor_intent_id as intent from checkout.charge_attempts where subject_id = $1';
    const [attempt] = await fixture.test.admin<{ intent: string }>(sent, [session.id]);
    const { testBank } = fixture.context.processors.of(fixture.scope);
    await testBank?.authenticate(attempt?.intent ?? '', true);
    expect(await resumeAuthentication(fixture.context, fixture.scope, session.id, false)).toMatchObject({
      ...{ status: 'complete', declinesOnPage: 20 },
    });
  });

  it('are not used up beside a payment that is under way: no bank is asked about another card [D14.321]', async () => {
    const session = await fixture.session({
      ...{ lines: [line({ unitAmount: 6_000 })], setupFutureUse: 'on_session' },
      customerId: (await fixture.card('hsa')).customerId,
    });
    await payWith(session, await fixture.confirmationToken('tok_authenticationRequired'));
    await expect(pay(session, 'tok_chargeDeclined')).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(await declines(session)).toMatchObject({ declinesOnPage: 0 });
  });

  it('only grow, and the database charges no card beyond them [D14.321]', async () => {
    const session = await guest();
    await set(session, 'declines_on_page', 20);
    await expect(set(session, 'declines_on_page', 21)).rejects.toMatchObject({
      constraint: 'declines_on_page_are_bounded',
    });
    await expect(set(session, 'declines_on_page', 19)).rejects.toMatchObject({ constraint: 'session_declines_grow' });
    const other = await guest();
    await pay(other, 'tok_chargeDeclined');
    const copy = scoped(
      'test.copy_attempt',
      `insert into checkout.charge_attempts select (jsonb_populate_record(a, jsonb_build_object('id', $3::text, 'subject_id', $4::text,
         'status', 'created', 'failure_code', null, 'decline_code', null))).*
       from checkout.charge_attempts a where a.account_id = $1 and a.test_mode = $2 and a.subject_id = $5`,
    );
    const charge = withTx(fixture.database, fixture.scope, (tx) =>
      tx.execute(copy, fixture.scope, [newId('charge_attempt'), session.id, other.id]),
    );
    await expect(charge).rejects.toMatchObject({ constraint: 'session_declines_are_bounded' });
  });
});
