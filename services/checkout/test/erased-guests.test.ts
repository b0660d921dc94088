import { systemClock } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeOnPage } from '../src/actions/complete-with-cards.ts';
import type { ErasureWork } from '../src/actions/erase-customer.ts';
import { eraseGuest, findGuestSessions, visitIntentsOfSessions } from '../src/actions/erase-guest.ts';
import { keepShopperEmail } from '../src/actions/shopper-email.ts';
import { submitLetterAnswers } from '../src/actions/submit-letter-answers.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let context: Context;
beforeAll(async () => {
  fixture = await openChargingFixture();
  // The page's fields say who the card is of.
  context = fixture.contextWith((port) => ({
    async retrieveConfirmationToken(id, call) {
      const found = await port.retrieveConfirmationToken(id, call);
      return found.kind === 'found' ? { ...found, billing: { ...found.billing, name: 'Zelda' } } : found;
    },
  }));
});
afterAll(() => fixture.close());

const shippingDetails = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' };
const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' })];
const reload = ({ id }: Session) => loadSession(fixture.database, fixture.scope, id);

/** A session of a shopper without a customer record, who typed an address, an e-mail address and a card on the page. */
async function guest(email: string, token = 'tok_hsa'): Promise<Session> {
  const session = await order();
  await pay(session, email, token);
  return session;
}
const order = () =>
  fixture.session({
    ...{ lines, receiptMerchantName: 'Care', metadata: { note: 'Zelda' }, shippingAddressCollection: true },
    defaults: { firstName: 'Zelda', lastName: 'Lee' },
  });
async function pay({ id: sessionId }: Session, email: string, token: string, with_: Context = context): Promise<void> {
  await keepShopperEmail(with_, fixture.scope, sessionId, email);
  await completeOnPage(with_, fixture.scope, {
    ...{ sessionId, paymentMethod: await fixture.confirmationToken(token), slot: 'health' as const },
    ...{ secondPaymentMethod: undefined, shippingDetails, onPage: true, refusesHealthCards: false },
  });
}

// As the operator's command has it: row-level security does not bind it.
function erasing(parts: Partial<ErasureWork> = {}): ErasureWork & { readonly elsewhere: string[] } {
  const database = fixture.test.open('checkout', { url: fixture.test.adminUrl });
  const elsewhere: string[] = [];
  return {
    ...{ database, clock: systemClock, elsewhere },
    eraseElsewhere: async (sessionIds, intentIds) => void elsewhere.push(...sessionIds, ...intentIds),
    eraseLast: async () => undefined,
    ...parts,
  };
}
const erase = (sessionIds: readonly string[], work = erasing()) =>
  eraseGuest(work, fixture.scope, { sessionIds, requestedBy: 'Request 1' });
const runs = async ({ id }: Session) =>
  fixture.test.admin(
    'select requested_by, finished_at is not null as finished from checkout.guest_erasures where session_id = $1 order by number',
    [id],
  );
/** Every place in which checkout has what names the shopper of a session. */
async function namesOf(session: Session): Promise<string> {
  const { customerEmail, shippingDetails: address, metadata, details } = (await reload(session)) ?? session;
  const cards = await fixture.test.admin(
    `select m.billing_details, m.metadata from checkout.page_cards p join checkout.payment_methods m on m.id = p.payment_method_id
     where p.session_id = $1`,
    [session.id],
  );
  return JSON.stringify({ customerEmail, address, metadata, defaults: details.defaults, cards });
}

describe('the erasure of a shopper without a customer record', () => {
  it('erases name, addresses, e-mail and cards of a session, keeps what was bought, and is recorded [D14.365]', async () => {
    const [session, stranger] = [await guest('zelda@example.com'), await guest('stranger@example.com')];
    expect(await namesOf(session)).toMatch(/zelda@example.com.*Main St.*Zelda.*Lee.*Zelda/);
    const before = await reload(session);
    const work = erasing();
    expect(await erase([session.id], work)).toEqual({ sessions: 1, letters: 0 });
    expect(await namesOf(session)).toBe(
      JSON.stringify({
        ...{ customerEmail: null, address: null, metadata: {} },
        cards: [{ billing_details: {}, metadata: {} }],
      }),
    );
    const { status, amountReceivedCents, paymentIntentIds } = (await reload(session)) ?? session;
    expect({ status, amountReceivedCents, paymentIntentIds }).toEqual({
      ...{ status: 'complete', amountReceivedCents: 4_000, paymentIntentIds: before?.paymentIntentIds },
    });
    // Others erase what they keep of the session and of its payments.
    expect(work.elsewhere).toEqual([session.id, ...paymentIntentIds]);
    expect(await runs(session)).toEqual([{ requested_by: 'Request 1', finished: true }]);
    expect(await namesOf(stranger)).toMatch(/stranger@example.com.*Main St.*Zelda/);
  });

  it('ends an open session, so that its page writes nothing again [D14.365]', async () => {
    const session = await guest('open@example.com', 'tok_chargeDeclined');
    expect(await reload(session)).toMatchObject({ status: 'open' });
    await erase([session.id]);
    expect(await reload(session)).toMatchObject({ status: 'expired', customerEmail: null, shippingDetails: null });
    await keepShopperEmail(context, fixture.scope, session.id, 'open@example.com');
    expect(await namesOf(session)).not.toMatch(/open@example|Main St|Zelda/);
    const told = await fixture.told(session);
    expect(told['checkout.session.expired']).toBe(1);
  });

  it('erases what the shopper gives while the session ends [D14.365]', async () => {
    const session = await guest('late@example.com', 'tok_chargeDeclined');
    const late = {
      async eraseElsewhere() {
        await keepShopperEmail(context, fixture.scope, session.id, 'late@example.com');
      },
    };
    await erase([session.id], erasing(late));
    expect(await namesOf(session)).not.toMatch(/late@example/);
  });

  it('names an open session that is being charged, and is finished by a repeat [D14.365]', async () => {
    const session = await order();
    const runsMeanwhile: Promise<unknown>[] = [];
    const charging = fixture.contextWith((port) => ({
      async confirmIntent(...given) {
        runsMeanwhile.push(erase([session.id]));
        await Promise.allSettled(runsMeanwhile);
        return port.confirmIntent(...given);
      },
    }));
    await pay(session, 'charged@example.com', 'tok_chargeDeclined', charging);
    await expect(Promise.all(runsMeanwhile)).rejects.toThrow(session.id);
    // The page takes another card, and what the shopper types beside it.
    await pay(session, 'charged@example.com', 'tok_chargeDeclined');
    expect(await reload(session)).toMatchObject({ status: 'open', customerEmail: 'charged@example.com' });
    expect(await runs(session)).toMatchObject([{ finished: false }]);
    await erase([session.id]);
    expect(await reload(session)).toMatchObject({ status: 'expired' });
    expect(await namesOf(session)).not.toMatch(/charged@example|Main St|Zelda/);
    expect(await runs(session)).toMatchObject([{ finished: true }, { finished: true }]);
  });

  it('is repeated after a run that was stopped, whose record stays [D14.365]', async () => {
    const session = await guest('again@example.com');
    const stopped = erasing({ eraseLast: () => Promise.reject(new Error('stopped')) });
    await expect(erase([session.id], stopped)).rejects.toThrow('stopped');
    expect(await runs(session)).toMatchObject([{ finished: false }]);
    await erase([session.id]);
    expect(await runs(session)).toMatchObject([{ finished: true }, { finished: true }]);
  });

  it('by an address is finished by the next run, whomever that is for, once the address is erased [D14.365]', async () => {
    const email = 'stopped@example.com';
    const session = await guest(email);
    const { database } = erasing();
    const { sessionIds } = await findGuestSessions(database, fixture.scope, { email });
    const dies = erasing({ eraseElsewhere: () => Promise.reject(new Error('killed')) });
    await expect(erase(sessionIds, dies)).rejects.toThrow('killed');
    const again = await findGuestSessions(database, fixture.scope, { email });
    expect(again).toEqual({ sessionIds: [], unfinishedIds: [session.id], customerIds: [] });
    const work = erasing();
    await erase(again.unfinishedIds, work);
    expect(work.elsewhere).toContain(session.id);
    expect(await findGuestSessions(database, fixture.scope, { email })).toMatchObject({ unfinishedIds: [] });
  });

  it('deletes the answers for a letter, and stores none after that [D14.347]', async () => {
    const letters = lettersFixture(fixture);
    const letter = await letters.onlyLetter(await letters.held(undefined, { customerId: undefined }));
    const submit = () => submitLetterAnswers(context, fixture.scope, letter.sessionId, '{}');
    const stored = () => fixture.test.admin('select from checkout.letter_answers where letter_id = $1', [letter.id]);
    await submit();
    expect(await stored()).toHaveLength(1);
    expect(await erase([letter.sessionId])).toEqual({ sessions: 1, letters: 1 });
    await expect(submit()).rejects.toMatchObject({ code: 'customer_not_found' });
    const insert = `insert into checkout.letter_answers (account_id, test_mode, letter_id, sealed, submitted_at)
      select l.account_id, l.test_mode, l.id, 'sealed', now() from checkout.letters l where l.id = $1`;
    await expect(fixture.test.admin(insert, [letter.id])).rejects.toMatchObject({
      constraint: 'no_answers_for_an_erased_guest',
    });
    expect(await stored()).toEqual([]);
  });

  it('leaves the session and the card of a customer to the customer’s own erasure [D14.365]', async () => {
    const card = await fixture.card('hsa');
    const owned = await fixture.session({ lines, customerId: card.customerId, customerEmail: 'both@example.com' });
    expect(await erase([owned.id])).toEqual({ sessions: 0, letters: 0 });
    expect(await reload(owned)).toMatchObject({ status: 'open', customerEmail: 'both@example.com' });
    expect(await runs(owned)).toEqual([]);
  });

  it('finds the sessions of an address, beside the customers who have the same one, and those of no other account [D14.365]', async () => {
    const email = 'many@example.com';
    const card = await fixture.card('hsa');
    const owned = await fixture.session({ lines, customerId: card.customerId, customerEmail: email });
    const guests = await Promise.all(
      Array.from({ length: 52 }, () => fixture.session({ lines, customerEmail: email })),
    );
    const { database } = erasing();
    const found = await findGuestSessions(database, fixture.scope, { email });
    expect([...found.sessionIds].sort()).toEqual(guests.map(({ id }) => id).sort());
    expect(found.customerIds).toEqual([card.customerId]);
    const one = await findGuestSessions(database, fixture.scope, { sessionId: owned.id });
    expect(one).toEqual({ sessionIds: [], unfinishedIds: [], customerIds: [card.customerId] });
    const elsewhere = { ...fixture.scope, accountId: 'facct_other' };
    expect(await findGuestSessions(database, elsewhere, { email })).toEqual({
      ...{ sessionIds: [], unfinishedIds: [], customerIds: [] },
    });
    const missing = findGuestSessions(database, elsewhere, { sessionId: owned.id });
    await expect(missing).rejects.toMatchObject({ code: 'checkout_session_not_found' });
    expect(await erase(found.sessionIds)).toMatchObject({ sessions: 52 });
    expect(await findGuestSessions(database, fixture.scope, { email })).toMatchObject({ sessionIds: [] });
  });

  it('has the payment intents of its sessions visited first, in pages [D14.365]', async () => {
    const session = await guest('visit@example.com');
    const visited: string[] = [];
    await visitIntentsOfSessions(erasing().database, fixture.scope, [session.id], async (ids) => {
      visited.push(...ids);
    });
    expect(visited).toEqual((await reload(session))?.paymentIntentIds);
  });
});
