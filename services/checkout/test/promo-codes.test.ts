import { create } from '@bufbuild/protobuf';
import { scoped, withTx } from '@eligo/postgres';
import { type CartLine, CouponDataSchema } from '@eligo/proto/catalog/v1/catalog';
import { waitUntil } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changePromoCode, mostPromoCodeTries, writeEntered } from '../src/actions/change-promo-code.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { readPage } from '../src/actions/read-page.ts';
import { splitVersionOf } from '../src/domain/repricing.ts';
import type { Session, SessionDiscount } from '../src/domain/session.ts';
import { settleCatalogTasks } from '../src/jobs/settle-catalog-tasks.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { loadSession, lockSession, lockSessions } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  fixture.catalog.addCode('TEN', { amountOffCents: 1_000n });
  fixture.catalog.addCode('HALF', { percentOffBasisPoints: 5_000 });
  fixture.catalog.addCode('ALL', { percentOffBasisPoints: 10_000 });
  fixture.catalog.addCode('LARGE', { amountOffCents: 1_000n, name: 'x'.repeat(1_048_576) });
});
afterAll(() => fixture.close());

const couponData = (percentOffBasisPoints: number, products: string[] = []) =>
  create(CouponDataSchema, { percentOffBasisPoints, appliesTo: { products } });
const allowed = { allowPromotionCodes: true };
const lines = () => [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
const trial = (of: readonly CartLine[], parts = {}) =>
  cart({ mode: 'subscription', lines: of, subscriptionData: { trialPeriodDays: 7 }, ...parts });
const cart = (parts = {}) => fixture.session({ lines: lines(), ...allowed, ...parts });
const enter = (session: Pick<Session, 'id'>, code: string | undefined) =>
  changePromoCode(fixture.context, fixture.call, session.id, code);
const read = async (session: Pick<Session, 'id'>): Promise<Session> => {
  const found = await loadSession(fixture.database, fixture.scope, session.id);
  if (found === undefined) throw new Error('The session is gone');
  return found;
};
const callsOf = (id: string) =>
  fixture.catalog.calls.filter(({ sessionId }) => sessionId === id).map(({ name }) => name);
const amounts = ({ amountTotalCents, amountEligibleCents, amountDiscountCents }: Session) => ({
  total: amountTotalCents,
  eligible: amountEligibleCents,
  discount: amountDiscountCents,
});

const half = (): SessionDiscount => {
  const couponId = newId('coupon');
  const coupon = { couponId, duration: 'once', percentOffBasisPoints: 5_000, valid: true };
  return {
    id: newId('discount'),
    couponId,
    promoCodeId: 'fpromo_HALF',
    coupon,
    amountCents: cents(0),
    enteredCode: 'HALF',
  };
};

async function pay(session: Session, shown: Session = session): Promise<Session> {
  const [first, second] = await Promise.all([fixture.typedCard('tok_hsa'), fixture.typedCard('tok_visa')]);
  return completeWithCards(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: first, secondPaymentMethod: second, onPage: true },
    ...{ slot: 'health', secondSlot: 'other', shippingDetails: null, refusesHealthCards: false },
    shownSplit: splitVersionOf(shown, fixture.clock.now()) ?? '',
  });
}

describe('a promo code on the page', () => {
  it('prices the session as its creation would have, and its removal gives the first amounts back [D14.165]', async () => {
    const created = await fixture.session({
      lines: lines(),
      discounts: [{ source: { case: 'couponData', value: couponData(5_000) } }],
      taxAmountCents: 825n,
    });
    const session = await cart({ taxAmountCents: 825n });
    const before = await loadSessionLines(fixture.database, fixture.scope, session.id);
    const entered = await enter(session, 'half');
    expect(amounts(entered)).toEqual(amounts(created));
    expect(await read(session)).toEqual(entered);
    const parts = (all: Awaited<ReturnType<typeof loadSessionLines>>) =>
      all.map((one) => [one.amountDiscountCents, one.amountTaxCents, one.amountTotalCents, one.amountEligibleCents]);
    const priced = await loadSessionLines(fixture.database, fixture.scope, session.id);
    expect(parts(priced)).toEqual(parts(await loadSessionLines(fixture.database, fixture.scope, created.id)));
    const page = await readPage(fixture.context, fixture.scope, session.id);
    expect(page).toMatchObject({ dueNowCents: 5_825, takesPromoCode: true });
    const removed = await enter(session, undefined);
    expect(amounts(removed)).toEqual(amounts(session));
    const now = fixture.clock.now();
    expect(splitVersionOf(removed, now)).toBe(splitVersionOf(session, now));
    expect(await loadSessionLines(fixture.database, fixture.scope, session.id)).toEqual(before);
    const { entries = [] } = (await readSessionTimeline(fixture.database, fixture.scope, session.id)) ?? {};
    const told = entries
      .filter(({ type }) => type === 'session.repriced')
      .map(({ code, amountCents }) => [code, amountCents]);
    expect(told.sort()).toEqual([
      ['promo_code_entered', 5_825],
      ['promo_code_removed', 10_825],
    ]);
  });

  it('is redeemed once under the id of its discount, given back when removed or canceled, and final once paid [D14.166]', async () => {
    const session = await cart();
    const first = await enter(session, 'TEN');
    const again = await enter(session, 'ten');
    expect(again).toEqual(first);
    const [discount] = first.discounts;
    expect(callsOf(discount?.id ?? '')).toEqual(['reserveRedemption']);
    await enter(session, undefined);
    await enter(session, undefined);
    expect(callsOf(discount?.id ?? '')).toEqual(['reserveRedemption', 'releaseRedemption']);
    const second = await enter(session, 'TEN');
    expect((await pay(second)).status).toBe('complete');
    await settleTasks();
    expect(callsOf(second.discounts[0]?.id ?? '')).toEqual(['reserveRedemption', 'finalizeRedemption']);
    expect((await fixture.charges(session)).map(({ amount }) => amount).sort()).toEqual([3_600, 5_400]);

    const canceled = await enter(await cart(), 'TEN');
    await cancelSession(fixture.context, fixture.scope, canceled.id);
    await settleTasks();
    expect(callsOf(canceled.discounts[0]?.id ?? '')).toEqual(['reserveRedemption', 'releaseRedemption']);
  });

  it('stays with the session when it ends between its entry and the payment [D14.166]', async () => {
    fixture.catalog.addCode('SOON', { amountOffCents: 500n });
    const session = await enter(await cart(), 'SOON');
    fixture.catalog.calls.length = 0;
    expect(await pay(session)).toMatchObject({ status: 'complete', amountReceivedCents: 9_500 });
    expect(fixture.catalog.calls.map(({ name }) => name)).not.toContain('resolvePromoCode');
  });

  const refusals: [string, string, () => Promise<Session>, string][] = [
    ['where the partner allows none', 'TEN', () => fixture.session({ lines: lines() }), 'promo_codes_not_allowed'],
    ['that does not exist', 'NOPE', () => cart(), 'promo_code_invalid'],
    ['beside another', 'HALF', async () => enter(await cart(), 'TEN'), 'promo_code_already_entered'],
    [
      'that takes nothing off',
      'TEN',
      () => cart({ discounts: [{ source: { case: 'couponData', value: couponData(10_000) } }] }),
      'coupon_not_applicable',
    ],
    [
      'that leaves 49 cents to pay, below what a card is charged',
      'TEN',
      () => cart({ lines: [line({ unitAmount: 1_049 })] }),
      'coupon_not_applicable',
    ],
    [
      'that leaves a cent of a first renewal',
      'TEN',
      () => trial([line({ unitAmount: 1_001, recurring: true })]),
      'coupon_not_applicable',
    ],
    [
      'that leaves shipping on what no charge of a trial pays',
      'ALL',
      () =>
        trial([line({ unitAmount: 500, product: 'fprod_free' }), line({ unitAmount: 1_000, recurring: true })], {
          shipping: { case: 'shippingRateData', value: { displayName: 'Express', amountCents: 100n } },
          discounts: [{ source: { case: 'couponData', value: couponData(10_000, ['fprod_free']) } }],
        }),
      'coupon_not_applicable',
    ],
    ['whose coupon is too large to be kept', 'LARGE', () => cart(), 'coupon_not_applicable'],
    [
      'that would make the letter needless that was announced',
      'ALL',
      () => cart({ lines: [line({ unitAmount: 4_000, class: 'letter_of_medical_necessity' })] }),
      'coupon_not_applicable',
    ],
    [
      'of a session that is over',
      'TEN',
      async () => cancelSession(fixture.context, fixture.scope, (await cart()).id),
      'checkout_session_canceled',
    ],
  ];
  it.each(refusals)('is refused %s, and changes nothing [D14.165]', async (_name, code, make, refusal) => {
    const session = await make();
    const before = await read(session);
    await expect(enter(session, code)).rejects.toMatchObject({ code: refusal });
    expect(await read(session)).toEqual(before);
  });

  it.each([
    [1_050, 50],
    [1_000, 0],
    [900, 0],
  ])(
    'is entered where it leaves what a card is charged, or nothing: of %s it leaves %s [D14.165]',
    async (unitAmount, left) => {
      const session = await cart({ lines: [line({ unitAmount })] });
      expect((await enter(session, 'TEN')).amountTotalCents).toBe(left);
      // Its removal gives the first amount back, whatever that was.
      expect((await enter(session, undefined)).amountTotalCents).toBe(unitAmount);
    },
  );

  it('cannot change any more once a card was given, whatever came of it [D14.167]', async () => {
    const entered = await enter(await cart(), 'TEN');
    const card = await fixture.typedCard('tok_chargeDeclined');
    const declined = await completeWithCards(fixture.context, fixture.scope, {
      ...{ sessionId: entered.id, paymentMethod: card, secondPaymentMethod: undefined, onPage: true },
      ...{ slot: 'other', shippingDetails: null, refusesHealthCards: false },
    });
    expect(declined.status).toBe('open');
    await expect(enter(entered, undefined)).rejects.toMatchObject({ code: 'promo_code_final' });
    await expect(enter(entered, 'HALF')).rejects.toMatchObject({ code: 'promo_code_final' });
    expect((await readPage(fixture.context, fixture.scope, entered.id)).takesPromoCode).toBe(false);
    expect(amounts(await read(entered))).toEqual(amounts(entered));
  });

  it('is tried twenty times at most, also when all tries come at once [D14.168]', async () => {
    const session = await cart();
    const tries = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => enter(session, `GUESS${i}`)));
    const codes = tries.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'found'));
    expect(codes.filter((code) => code === 'promo_code_invalid')).toHaveLength(mostPromoCodeTries);
    expect(codes.filter((code) => code === 'promo_code_tries_exceeded')).toHaveLength(30 - mostPromoCodeTries);
    await expect(enter(session, 'TEN')).rejects.toMatchObject({ code: 'promo_code_tries_exceeded' });
  });

  it('gives its redemption back when it is not written [D14.166]', async () => {
    const session = await cart();
    const reserved = 'reserveRedemption';
    fixture.catalog.calls.length = 0;
    // Two tabs: one of the two codes is entered, and the other one is given back.
    const both = await Promise.allSettled([enter(session, 'TEN'), enter(session, 'HALF')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const kept = (await read(session)).discounts[0]?.id;
    const ids = fixture.catalog.calls.filter(({ name }) => name === reserved).map(({ sessionId }) => sessionId);
    for (const id of ids) expect(callsOf(id)).toEqual(id === kept ? [reserved] : [reserved, 'releaseRedemption']);
    // An answer that is lost after the catalog has counted: the task finds that nothing was written.
    const other = await cart();
    fixture.catalog.failNext(reserved, new Error('lost'));
    await expect(enter(other, 'TEN')).rejects.toThrow('lost');
    await fixture.test.admin(`update checkout.catalog_tasks set due_at = now() - interval '1 second'`);
    await settleTasks();
    const lost = fixture.catalog.calls.filter(({ name }) => name === reserved).at(-1)?.sessionId ?? '';
    expect(callsOf(lost)).toEqual([reserved, 'releaseRedemption']);
    expect((await read(other)).discounts).toEqual([]);
  });

  const settleTasks = async () => {
    const job = settleCatalogTasks(fixture.context);
    while ((await job.run(new AbortController().signal)) === true);
  };
});

describe('what is charged', () => {
  it('is what the page showed at the click, or nothing [D14.167]', async () => {
    const shown = await cart();
    const entered = await enter(shown, 'TEN');
    const refusal = { code: 'checkout_session_amount_changed' };
    await expect(pay(entered, shown)).rejects.toMatchObject(refusal);
    expect(await fixture.charges(shown)).toEqual([]);
    await enter(shown, undefined);
    await expect(pay(shown, entered)).rejects.toMatchObject(refusal);
    expect(await pay(shown)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('is read with its discounts by a transaction that waited for the code [D14.167]', async () => {
    const session = await cart();
    const { promise: isHeld, resolve: held } = Promise.withResolvers<void>();
    const { promise: mayWrite, resolve: write } = Promise.withResolvers<void>();
    const writing = withTx(fixture.database, fixture.scope, async (tx) => {
      await lockSession(tx, fixture.scope, session.id);
      held();
      await mayWrite;
      return writeEntered(fixture.context, tx, fixture.scope, session.id, half());
    });
    await isHeld;
    const readers = [
      withTx(fixture.database, fixture.scope, (tx) => lockSession(tx, fixture.scope, session.id)),
      withTx(fixture.database, fixture.scope, async (tx) => (await lockSessions(tx, fixture.scope, [session.id]))[0]),
    ];
    await waitUntil(async () => {
      const waiting = await fixture.test.admin(
        'select pid from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0',
      );
      return waiting.length === readers.length || undefined;
    });
    write();
    const entered = await writing;
    expect(await Promise.all(readers)).toEqual([entered, entered]);
    expect(entered).toMatchObject({ amountTotalCents: 5_000, enteredDiscountId: entered.discounts[0]?.id });
  });

  it('is one of the two amounts when a confirm and a code cross, and the code knows which [D14.167]', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const card = await fixture.card('hsa', { offSession: true });
        const session = await fixture.mixedSession(card, allowed);
        const [confirmed, entered] = await Promise.allSettled([fixture.confirm(session, card), enter(session, 'HALF')]);
        expect(confirmed.status).toBe('fulfilled');
        const after = await read(session);
        const [charge] = await fixture.charges(session);
        expect(charge?.amount).toBe(after.amountEligibleCents);
        expect(after.amountReceivedCents).toBe(after.amountEligibleCents);
        expect(after.amountEligibleCents).toBe(entered.status === 'fulfilled' ? 2_000 : 4_000);
        if (entered.status === 'rejected') {
          expect(['promo_code_final', 'checkout_session_already_processed']).toContain(entered.reason.code);
        }
        return entered.status;
      }),
    );
    expect(outcomes).toHaveLength(6);
  });
});

describe('the database', () => {
  const own = 'where account_id = $1 and test_mode = $2';
  it('refuses amounts that change without a repricing, and after a card was given [D14.167]', async () => {
    const session = await enter(await cart(), 'TEN');
    const bypass = (sql: string) => fixture.test.admin(sql, [session.id]);
    const final = { constraint: 'session_split_is_final' };
    for (const [table, column, key] of [
      ['sessions', 'amount_total_cents = amount_total_cents - 1', 'id'],
      ['session_lines', 'amount_discount_cents = 0', 'session_id'],
      ['session_discounts', 'amount_cents = 1', 'session_id'],
      ['eligibility_records', 'eligible_cents = 1', 'session_id'],
    ]) {
      await expect(bypass(`update checkout.${table} set ${column} where ${key} = $1`)).rejects.toMatchObject(final);
    }
    await expect(bypass('delete from checkout.session_discounts where session_id = $1')).rejects.toMatchObject(final);
    const repriced = (constraint: string, sql: string) =>
      expect(
        bypass(`with r as (insert into checkout.session_repricings select account_id, test_mode, session_id, 2, 'promo_code_removed', discount_id,
            promo_code_id, discount_cents, total_cents, eligible_cents, now() from checkout.session_repricings where session_id = $1) ${sql}`),
      ).rejects.toMatchObject({ constraint });
    await repriced('repricing_tells_its_cause', 'select 1');
    await fixture.test.admin(
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
       values ($1, true, 'fpi_promo', $2, 'health', 'automatic', 'processing', 1000, now())`,
      [fixture.scope.accountId, session.id],
    );
    await repriced('no_card_was_given', 'select 1');
    const forget = scoped('test.forget', `delete from checkout.session_repricings ${own}`);
    await expect(withTx(fixture.database, fixture.scope, (tx) => tx.execute(forget, fixture.scope))).rejects.toThrow(
      'permission denied',
    );
    const fewer = fixture.test.admin(`update checkout.promo_code_tries set tries = 1 where session_id = $1`, [
      session.id,
    ]);
    await expect(fewer).rejects.toMatchObject({ constraint: 'promo_code_tries_grow' });
  });
});
