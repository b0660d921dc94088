import { cents, newId, systemClock } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adoptInvoiceCard } from '../src/actions/adopt-invoice-card.ts';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeOnPage } from '../src/actions/complete-with-cards.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { eraseCustomer } from '../src/actions/erase-customer.ts';
import { submitLetterAnswers } from '../src/actions/submit-letter-answers.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
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

/** A card that a shopper typed on the page of a session, and which was never charged. */
async function typedForSession(customerId: string): Promise<string> {
  const session = await fixture.mixedSession({ customerId });
  return adoptPageCard(context, fixture.scope, {
    ...{ sessionId: session.id, testClockId: null, loc: [], offSession: false },
    processorPaymentMethodId: await fixture.confirmationToken('tok_visa'),
  });
}

/** One that a customer typed on the page of an invoice, and which was declined. */
async function declinedForInvoice(customerId: string): Promise<string> {
  const invoiceId = newId('invoice');
  const { id } = await adoptInvoiceCard(context, fixture.scope, {
    ...{ invoiceId, customerId, slot: 'other', refusesHealthCards: false },
    processorPaymentMethodId: await fixture.confirmationToken('tok_chargeDeclined'),
  });
  const ids = { operationId: newId('charge_attempt'), invoiceId, subscriptionId: newId('subscription') };
  const charge = { customerId, paymentMethodId: id, amountCents: cents(2_500), leg: 'other' as const, onPage: true };
  expect(await chargeInvoice(context, fixture.scope, { ...ids, ...charge, at: new Date() })).toMatchObject({
    outcome: 'declined',
  });
  return id;
}

/** One that a customer typed there, and which the account may not charge: nothing was asked of the processor. */
async function refusedForInvoice(customerId: string): Promise<string> {
  const invoiceId = newId('invoice');
  const refused = adoptInvoiceCard(context, fixture.scope, {
    ...{ invoiceId, customerId, slot: 'health', refusesHealthCards: true },
    processorPaymentMethodId: await fixture.confirmationToken('tok_visa'),
  });
  await expect(refused).rejects.toMatchObject({ code: 'health_cards_not_enabled' });
  const [row] = await fixture.test.admin<{ id: string }>(
    'select payment_method_id as id from checkout.page_cards where invoice_id = $1',
    [invoiceId],
  );
  return row?.id ?? '';
}

const nameOn = async (id: string) => {
  const method = await findPaymentMethod(fixture.database, fixture.scope, id);
  expect(method?.customerId).toBeNull();
  return method?.billingDetails;
};

// As the operator's command has it: row-level security does not bind it.
function erasing() {
  const database = fixture.test.open('checkout', { url: fixture.test.adminUrl });
  return { database, clock: systemClock, eraseElsewhere: async () => undefined, eraseLast: async () => undefined };
}

const shippingDetails = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' };
const pay = async ({ id: sessionId }: Session, tokens: readonly string[], by = context) => {
  const [paymentMethod, secondPaymentMethod] = await Promise.all(tokens.map((one) => fixture.confirmationToken(one)));
  const cards = { paymentMethod, secondPaymentMethod, slot: 'health', secondSlot: 'other' } as const;
  const given = { sessionId, ...cards, shippingDetails, onPage: true, refusesHealthCards: false };
  return (await completeOnPage(by, fixture.scope, given)).session;
};
const namesOn = async ({ id }: Session) =>
  (
    await fixture.test.admin<{ billing: unknown }>(
      `select m.billing_details as billing from checkout.page_cards p join checkout.payment_methods m on m.id = p.payment_method_id
       where p.session_id = $1`,
      [id],
    )
  ).map(({ billing }) => billing);

describe('the erasure of a customer', () => {
  it('erases the name on cards that were typed on their pages and never paid, and on those of nobody else [D14.143]', async () => {
    const [{ customerId }, stranger] = await Promise.all([fixture.card('hsa'), fixture.card('hsa')]);
    const [ofSession, ofInvoice, refused, ofStranger] = [
      await typedForSession(customerId),
      await declinedForInvoice(customerId),
      await refusedForInvoice(customerId),
      await typedForSession(stranger.customerId),
    ];
    for (const id of [ofSession, ofInvoice, refused, ofStranger]) expect(await nameOn(id)).toEqual({ name: 'Zelda' });

    // A run whose last step fails is not recorded as finished; the next one goes through all again.
    const request = { customerId, requestedBy: 'Request 1' };
    const stopped = { ...erasing(), eraseLast: () => Promise.reject(new Error('stopped')) };
    await expect(eraseCustomer(stopped, fixture.scope, request)).rejects.toThrow('stopped');
    await eraseCustomer(erasing(), fixture.scope, request);
    const runs =
      'select finished_at is not null as finished from checkout.erasures where customer_id = $1 order by number';
    expect(await fixture.test.admin(runs, [customerId])).toEqual([{ finished: false }, { finished: true }]);
    expect([await nameOn(ofSession), await nameOn(ofInvoice), await nameOn(refused)]).toEqual([{}, {}, {}]);
    expect(await nameOn(ofStranger)).toEqual({ name: 'Zelda' });
  });

  it('ends their open sessions, and no page that is still open writes a name or an address again [D14.323]', async () => {
    const { customerId } = await fixture.card('hsa');
    const [plain, waiting] = [await fixture.mixedSession({ customerId }), await fixture.mixedSession({ customerId })];
    // A health card is held, and its shopper is asked for a second one.
    expect(await pay(waiting, ['tok_hsa'])).toMatchObject({ nextAction: { type: 'provide_second_payment_method' } });
    const stranger = await fixture.mixedSession(await fixture.card('hsa'));
    await eraseCustomer(erasing(), fixture.scope, { customerId, requestedBy: 'Request 2' });
    const ended = { status: 'expired', shippingDetails: null, customerEmail: null };
    for (const session of [plain, waiting]) {
      expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject(ended);
      expect(await fixture.told(session)).toMatchObject({ 'checkout.session.expired': 1 });
      await expect(pay(session, ['tok_visa', 'tok_visa'])).rejects.toMatchObject({ code: 'checkout_session_expired' });
      expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject(ended);
    }
    expect(await loadSession(fixture.database, fixture.scope, stranger.id)).toMatchObject({ status: 'open' });
    expect(await namesOn(plain)).toEqual([]);
    expect(await namesOn(waiting)).toEqual([{}]);
  });
});

describe('a card that is typed while the customer of its session is deleted', () => {
  it('is refused as the customer is, by the database if by nothing else [D14.323]', async () => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.mixedSession({ customerId });
    const deleting = fixture.contextWith((port) => ({
      async retrievePaymentMethod(...given) {
        const found = await port.retrievePaymentMethod(...given);
        await deleteCustomer(context, fixture.scope, customerId);
        return found;
      },
    }));
    const adopted = adoptPageCard(deleting, fixture.scope, {
      ...{ sessionId: session.id, testClockId: null, loc: [], offSession: false },
      processorPaymentMethodId: await fixture.typedCard('tok_visa'),
    });
    await expect(adopted).rejects.toMatchObject({ code: 'customer_not_found', status: 404 });
    expect(await namesOn(session)).toEqual([]);
  });
});

describe('an erasure of a customer with a session that cannot expire', () => {
  it('erases everything else, names the session, and is finished by a repeat [D14.323]', async () => {
    const { id: cardId, customerId } = await fixture.card('hsa');
    const [stuck, other] = [await fixture.mixedSession({ customerId }), await fixture.mixedSession({ customerId })];
    await fixture.test.admin(
      `update checkout.payment_methods set billing_details = '{"name": "Zelda"}' where id = $1`,
      [cardId],
    );
    await fixture.test.admin(
      `create function checkout.test_stuck() returns trigger language plpgsql as $$ begin raise exception 'stuck'; end $$;
       create trigger test_stuck before update on checkout.sessions for each row
         when (new.id = '${stuck.id}' and new.status = 'expired') execute function checkout.test_stuck()`,
    );
    const elsewhere: string[] = [];
    const work = { ...erasing(), eraseElsewhere: async (ids: readonly string[]) => void elsewhere.push(...ids) };
    const erase = () => eraseCustomer(work, fixture.scope, { customerId, requestedBy: 'Request 4' });
    await expect(erase()).rejects.toThrow(stuck.id);
    expect(elsewhere.toSorted()).toEqual([stuck.id, other.id].toSorted());
    expect((await findPaymentMethod(fixture.database, fixture.scope, cardId))?.billingDetails ?? {}).toEqual({});
    expect(await loadSession(fixture.database, fixture.scope, other.id)).toMatchObject({ status: 'expired' });
    await fixture.test.admin('drop function checkout.test_stuck cascade');
    await erase();
    expect(await loadSession(fixture.database, fixture.scope, stuck.id)).toMatchObject({ status: 'expired' });
    const finished = await fixture.test.admin(
      'select finished_at is not null as finished from checkout.erasures where customer_id = $1 order by number',
      [customerId],
    );
    expect(finished).toEqual([{ finished: false }, { finished: true }]);
  });
});

describe('the answers for a letter of a customer who was erased', () => {
  it('are stored from no page that is still open, and refused by the database [D14.323]', async () => {
    const letters = lettersFixture(fixture);
    const letter = await letters.onlyLetter(await letters.held());
    const session = await loadSession(fixture.database, fixture.scope, letter.sessionId);
    const customerId = session?.customerId ?? '';
    await submitLetterAnswers(fixture.context, fixture.scope, letter.sessionId, '{}');
    const answers = () => fixture.test.admin('select from checkout.letter_answers where letter_id = $1', [letter.id]);
    expect(await answers()).toHaveLength(1);
    await eraseCustomer(erasing(), fixture.scope, { customerId, requestedBy: 'Request 3' });
    const submitted = submitLetterAnswers(fixture.context, fixture.scope, letter.sessionId, '{}');
    await expect(submitted).rejects.toMatchObject({ code: 'customer_not_found' });
    const insert = `insert into checkout.letter_answers (account_id, test_mode, letter_id, sealed, submitted_at)
      select l.account_id, l.test_mode, l.id, 'sealed', now() from checkout.letters l where l.id = $1`;
    await expect(fixture.test.admin(insert, [letter.id])).rejects.toMatchObject({
      constraint: 'no_answers_for_a_deleted_customer',
    });
    expect(await answers()).toEqual([]);
  });
});

describe('the page of a session whose customer was deleted', () => {
  it.each([
    ['with one card', ['tok_visa']],
    ['with two cards', ['tok_hsa', 'tok_visa']],
  ])('takes no payment %s, and stores nothing of it [D14.323]', async (_, tokens) => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.session({ lines: [line({ unitAmount: 4_000, class: 'vision' })], customerId });
    await deleteCustomer(fixture.context, fixture.scope, customerId);
    await expect(pay(session, tokens)).rejects.toMatchObject({ code: 'customer_not_found', status: 404 });
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      ...{ status: 'open', shippingDetails: null, version: session.version },
    });
    expect(await namesOn(session)).toEqual([]);
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('goes on with no second card, and releases the first within the hour [D14.323]', async () => {
    const { customerId } = await fixture.card('hsa');
    const session = await fixture.mixedSession({ customerId });
    await pay(session, ['tok_hsa']);
    await deleteCustomer(fixture.context, fixture.scope, customerId);
    await expect(pay(session, ['tok_visa', 'tok_visa'])).rejects.toMatchObject({ code: 'customer_not_found' });
    await fixture.test.admin('update checkout.payment_plans set release_at = now() where session_id = $1', [
      session.id,
    ]);
    for (const _ of [1, 2]) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
    expect((await fixture.charges(session)).map(({ amount_captured: amount }) => amount)).toEqual([0]);
    expect(await fixture.told(session)).toMatchObject({ 'payment_intent.canceled': 1 });
  });

  it.each(['that are saved', 'that were just typed'])(
    'has its second card not charged where the customer is deleted between the two: cards %s [D14.323]',
    async (cards) => {
      const { customerId } = await fixture.card('hsa');
      const session = await fixture.mixedSession({ customerId });
      const deleting = fixture.contextWith((port) => ({
        async confirmIntent(...given) {
          const confirmed = await port.confirmIntent(...given);
          await deleteCustomer(fixture.context, fixture.scope, customerId).catch(() => undefined);
          return confirmed;
        },
      }));
      if (cards === 'that were just typed') await pay(session, ['tok_hsa', 'tok_visa'], deleting);
      else {
        const saved = [await fixture.card('hsa', { customerId }), await fixture.card('credit')];
        await completeSession(deleting, fixture.scope, {
          ...{ sessionId: session.id, paymentMethodIds: saved.map(({ id }) => id), shippingDetails: null },
        });
      }
      expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
        ...{ status: 'open', amountReceivedCents: 0, nextAction: { type: 'payment_failed' } },
      });
      expect((await fixture.charges(session)).map(({ amount }) => amount)).toEqual([4_000]);
    },
  );

  it('is refused by the database, whatever asks [D14.323]', async () => {
    const { customerId } = await fixture.card('hsa');
    const [session, other] = [await fixture.mixedSession({ customerId }), await fixture.mixedSession({ customerId })];
    await pay(other, ['tok_chargeDeclined', 'tok_visa']);
    await deleteCustomer(fixture.context, fixture.scope, customerId);
    const copies = {
      no_card_for_a_deleted_customer: `insert into checkout.page_cards
        select (jsonb_populate_record(p, jsonb_build_object('processor_payment_method_id', $1::text, 'session_id', $2::text))).*
        from checkout.page_cards p where p.session_id = $3 limit 1`,
      no_charge_for_a_deleted_customer: `insert into checkout.charge_attempts
        select (jsonb_populate_record(a, jsonb_build_object('id', $1::text, 'subject_id', $2::text, 'status', 'created', 'failure_code', null))).*
        from checkout.charge_attempts a where a.subject_id = $3 limit 1`,
    };
    for (const [constraint, copy] of Object.entries(copies)) {
      const values = [newId('charge_attempt'), session.id, other.id];
      await expect(fixture.test.admin(copy, values)).rejects.toMatchObject({ constraint });
    }
  });
});
