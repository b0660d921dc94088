import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { openProcessors, type Processors, sandboxAccountOf } from '@eligo/processor';
import { BatchGetRequestSchema, GetRequestSchema } from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attachPaymentMethod, detachPaymentMethod } from '../src/actions/attach-payment-method.ts';
import { captureSession } from '../src/actions/capture-session.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { createSession } from '../src/actions/create-session.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { fillProcessors } from '../src/jobs/fill-processor-accounts.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { paymentMethodHandlers } from '../src/rpc/payment-methods.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { accountsWithPayments } from '../src/store/accounts-with-payments.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { sessionMessage } from './fixture.ts';
import { lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
/** The same service after the operator has given the account another processor account. */
let moved: Context;
beforeAll(async () => {
  fixture = await openChargingFixture();
  const { processors } = fixture.context;
  const second = { processor: 'sandbox', account: 'acct_anotheraccount' } as const;
  const ofSecond: Context['processors']['of'] = (scope) => processors.at(scope, second);
  moved = { ...fixture.context, processors: { ...processors, of: ofSecond, findOf: ofSecond } };
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const elsewhere = { code: 'payment_method_from_another_processor', status: 422 };
async function statusOf(session: Session): Promise<string | undefined> {
  const [row] = await fixture.test.admin<{ status: string }>('select status from checkout.sessions where id = $1', [
    session.id,
  ]);
  return row?.status;
}

async function sweep(context: Context): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await fixture.lapseLeases();
    await sweepCharges(context);
  }
}

async function attemptsOf(subjectId: string) {
  return fixture.test.admin<{ status: string; checks: number; processor_account: string | null }>(
    'select status, checks, processor_account from checkout.charge_attempts where subject_id = $1',
    [subjectId],
  );
}

const atFirst = () => sandboxAccountOf(fixture.scope);
const resourcesOf = (context: Context) => ({ ...fixture.context, processors: context.processors });
const cardOf = (context: Context, customerId: string, card = 'hsa') =>
  createTestPaymentMethod(resourcesOf(context), fixture.scope, { customerId, card, cardLoc: [], offSession: true });

describe('money at the account that an account had before', () => {
  it('is of an account that is listed, with the place of its newest payment, in pages [D14.161, D14.162]', async () => {
    const card = await fixture.card('hsa');
    await fixture.confirm(await fixture.mixedSession(card), card);
    const copy = (accountId: string, changes: object) =>
      fixture.test.admin(
        `insert into checkout.payment_intents select (jsonb_populate_record(i, $1::jsonb)).* from checkout.payment_intents i
          where account_id = $2 limit 1`,
        [
          JSON.stringify({ account_id: accountId, session_id: null, invoice_id: 'finv_1', ...changes }),
          fixture.scope.accountId,
        ],
      );
    await copy('a', { id: newId('payment_intent') });
    await copy('a', { id: newId('payment_intent'), processor_account: 'acct_newest' });
    await copy('a', { id: newId('payment_intent'), test_mode: false, processor: null, processor_account: null });
    const { database } = fixture;
    const all = await accountsWithPayments(database, { accountId: '', testMode: false }, 10);
    expect(all).toEqual([
      { scope: { accountId: 'a', testMode: false }, newest: null },
      { scope: { accountId: 'a', testMode: true }, newest: { processor: 'sandbox', account: 'acct_newest' } },
      { scope: fixture.scope, newest: { processor: 'sandbox', account: atFirst() } },
    ]);
    expect(await accountsWithPayments(database, { accountId: 'a', testMode: false }, 1)).toEqual([all[1]]);
    expect(await accountsWithPayments(database, fixture.scope, 10)).toEqual([]);
    await fixture.test.admin("delete from checkout.payment_intents where account_id = 'a'");
  });

  it('is charged, learned of, captured, voided and refunded there [D14.105]', async () => {
    const card = await fixture.card('hsa');
    const letters = lettersFixture(fixture);
    const charged = await fixture.mixedSession(card);
    await fixture.confirm(charged, card);
    const held = await letters.confirmed();
    const canceled = await letters.confirmed();
    const unknown = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(unknown, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });

    await sweep(moved);
    expect(await statusOf(unknown)).toBe('complete');
    await decideLetter(moved, fixture.scope, (await letters.onlyLetter(held)).id, 'approved');
    await cancelSession(resourcesOf(moved), fixture.scope, canceled.id);
    await sweep(moved);
    expect(await statusOf(held)).toBe('complete');
    expect(await letters.captured(held)).toEqual([[3_000, 3_000, 'succeeded']]);
    expect(await letters.captured(canceled)).toMatchObject([[3_000, 0, expect.anything()]]);
    const holds = await fixture.test.admin(
      'select status from checkout.intent_operations where payment_intent_id = any($1)',
      [canceled.paymentIntentIds],
    );
    expect(holds).toEqual([{ status: 'done' }]);
    const { cards } = await reserveRefund(moved, fixture.scope, {
      ...{
        refundId: newId('refund'),
        sessionId: charged.id,
        paymentIntentId: null,
        instruction: { entries: [], methods: [] },
      },
      ...{ features: [], preview: true },
    });
    expect(cards.map(({ intent }) => intent.processorAccount)).toEqual([{ processor: 'sandbox', account: atFirst() }]);
  });

  it('is captured by the API, also in a part after which the card stays held [D14.105]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card, { captureMethod: 'manual' });
    await completeSession(fixture.context, fixture.scope, {
      ...{
        sessionId: session.id,
        paymentMethodIds: [card.id, (await fixture.card('credit')).id],
        shippingDetails: null,
      },
    });
    const instruction = { entries: [], isFinal: false, amount: cents(1_000) };
    await captureSession(moved, fixture.scope, session.id, { instruction, metadata: {}, key: undefined });
    const taken = (await fixture.charges(session)).map((charge) => charge.amount_captured);
    expect(taken.reduce((sum, part) => sum + part)).toBe(1_000);
  });

  it('waits without a check while that processor is not configured, and is then settled [D14.105]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    const told: unknown[] = [];
    const none = openProcessors({}, { onNotConfigured: (account) => void told.push(account) });
    const [before] = await attemptsOf(session.id);
    await sweep({ ...fixture.context, processors: none });
    expect(await attemptsOf(session.id)).toEqual([before]);
    expect(told).toEqual(Array(3).fill({ processor: 'sandbox', account: atFirst() }));
    await sweep(moved);
    expect(await statusOf(session)).toBe('complete');
  });
});

describe('a card that was saved at the account before', () => {
  it('is refused wherever it would be charged, with no attempt made [D14.106]', async () => {
    const card = await fixture.card('hsa');
    const { customerId, id: paymentMethodId } = card;
    const session = await fixture.mixedSession(card);
    const paid = (of: Session) =>
      completeSession(moved, fixture.scope, {
        ...{ sessionId: of.id, paymentMethodIds: [paymentMethodId], shippingDetails: null },
      });
    await expect(fixture.confirm(session, card, { key: 'moved' }, moved)).rejects.toMatchObject(elsewhere);
    await expect(paid(session)).rejects.toMatchObject(elsewhere);
    const setup = await fixture.session({ mode: 'setup', lines: [], customerId });
    await expect(paid(setup)).rejects.toMatchObject(elsewhere);
    const offSession = sessionRequestOf(sessionMessage({ mode: 'off_session', customerId, paymentMethodId }));
    await expect(createSession(resourcesOf(moved), fixture.call, offSession)).rejects.toMatchObject(elsewhere);
    const invoice = {
      ...{ operationId: newId('charge_attempt'), invoiceId: newId('invoice'), subscriptionId: null, customerId },
      ...{ paymentMethodId, amountCents: session.amountEligibleCents, leg: 'health' as const, at: new Date() },
    };
    await expect(chargeInvoice(moved, fixture.scope, invoice)).rejects.toMatchObject(elsewhere);
    expect([...(await attemptsOf(session.id)), ...(await attemptsOf(invoice.invoiceId))]).toEqual([]);
    // The refusal is not kept under the key: the operator may take the account back.
    expect((await fixture.confirm(session, card, { key: 'moved' })).session).toMatchObject({ status: 'complete' });
  });

  it('is attached to nobody, and detached where it is [D14.106]', async () => {
    const { customerId } = await fixture.card('credit');
    const loose = await createTestPaymentMethod(resourcesOf(fixture.context), fixture.scope, {
      ...{ customerId: null, card: 'hsa', cardLoc: [], offSession: true },
    });
    const attach = attachPaymentMethod(resourcesOf(moved), fixture.scope, loose.id, customerId);
    await expect(attach).rejects.toMatchObject(elsewhere);
    const saved = await cardOf(fixture.context, customerId);
    await detachPaymentMethod(resourcesOf(moved), fixture.scope, saved.id);
    const processor = fixture.context.processors.of(fixture.scope);
    expect(await processor.retrievePaymentMethod(saved.processorPaymentMethodId)).toMatchObject({
      ...{ kind: 'found', customerId: undefined },
    });
  });

  it('is answered as one that cannot be charged any more [D14.90, D14.106]', async () => {
    const { id } = await fixture.card('hsa');
    const call = { scope: fixture.scope } as Call;
    const answered = async (context: Context) => {
      const handlers = paymentMethodHandlers(context);
      const one = await handlers.getPaymentMethod?.(create(GetRequestSchema, { id }), call);
      const batch = await handlers.batchGetPaymentMethods?.(create(BatchGetRequestSchema, { ids: [id] }), call);
      return [one, ...(batch?.paymentMethods ?? [])].map((method) => method?.notChargeable);
    };
    const { code } = elsewhere;
    expect(await answered(moved)).toEqual([code, code]);
    expect(await answered(fixture.context)).toEqual([undefined, undefined]);
  });

  it('gives way to one that the same customer gives at the new account [D14.106]', async () => {
    const old = await fixture.card('hsa');
    const fresh: PaymentMethod = await cardOf(moved, old.customerId);
    expect(fresh.processorCustomerId).not.toBe(old.processorCustomerId);
    expect(fresh.processorAccount).toEqual({ processor: 'sandbox', account: 'acct_anotheraccount' });
    const session = await fixture.mixedSession(old);
    await fixture.confirm(session, fresh, {}, moved);
    expect(await attemptsOf(session.id)).toMatchObject([
      { status: 'succeeded', processor_account: 'acct_anotheraccount' },
    ]);
    const again = await cardOf(moved, old.customerId);
    expect(again.processorCustomerId).toBe(fresh.processorCustomerId);
  });
});

describe('rows of the release that did not store the account', () => {
  const tables = ['payment_methods', 'customers', 'payment_intents', 'charge_attempts', 'setup_intents'];

  it('are where new money goes, are filled, and stay there after a change [D14.105]', async () => {
    const card = await fixture.card('hsa');
    const setup = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
    await completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: setup.id, paymentMethodIds: [card.id], shippingDetails: null },
    });
    const session = await lettersFixture(fixture).confirmed();
    for (const table of tables) {
      await fixture.test.admin(`alter table checkout.${table} disable trigger user`);
      await fixture.test.admin(`update checkout.${table} set processor = null, processor_account = null`);
      await fixture.test.admin(`alter table checkout.${table} enable trigger user`);
    }
    const charged = await fixture.mixedSession(card);
    await fixture.confirm(charged, card);

    const told: object[] = [];
    const logger = { ...fixture.context.logger, error: (fields: object) => void told.push(fields) };
    const run = (processors: Processors) =>
      fillProcessors({
        ...{ database: fixture.database, processors },
        logger: logger as unknown as typeof fixture.context.logger,
      }).run(new AbortController().signal);
    await run(openProcessors({}));
    expect(told).toEqual([{ accountId: fixture.scope.accountId }]);
    expect(await run(fixture.context.processors)).toBe(false);
    for (const table of tables) {
      const where = table === 'customers' ? 'where processor_customer_id is not null' : '';
      const rows = await fixture.test.admin(
        `select distinct processor, processor_account from checkout.${table} ${where}`,
      );
      expect([table, rows]).toEqual([
        table,
        expect.arrayContaining([{ processor: 'sandbox', processor_account: atFirst() }]),
      ]);
      expect(rows).not.toContainEqual({ processor: null, processor_account: null });
    }
    await decideLetter(moved, fixture.scope, (await lettersFixture(fixture).onlyLetter(session)).id, 'approved');
    await sweep(moved);
    expect(await statusOf(session)).toBe('complete');
    await expect(fixture.confirm(await fixture.mixedSession(card), card, {}, moved)).rejects.toMatchObject(elsewhere);
  });
});

describe('the tables alone', () => {
  it.each([
    ['payment_methods', 'processor_account_is_final', "set processor_account = 'acct_other'"],
    ['payment_intents', 'processor_account_is_final', "set processor_account = 'acct_other'"],
    ['charge_attempts', 'processor_account_is_final', "set processor_account = 'acct_other'"],
    ['customers', 'processor_account_is_whole', 'set processor_account = null'],
    ['customers', 'test_mode_is_at_the_sandbox', "set processor = 'stripe'"],
    ['setup_intents', 'test_mode_is_at_the_sandbox', "set processor = 'stripe', processor_account = 'self'"],
  ])('%s refuse what breaks %s [D14.105]', async (table, constraint, change) => {
    const card = await fixture.card('hsa');
    const setup = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
    await completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: setup.id, paymentMethodIds: [card.id], shippingDetails: null },
    });
    await fixture.confirm(await fixture.mixedSession(card), card);
    const owner = table === 'customers' ? 'id' : 'customer_id';
    await expect(
      fixture.test.admin(`update checkout.${table} ${change} where ${owner} = $1`, [card.customerId]),
    ).rejects.toMatchObject({ code: '23514', constraint });
  });

  it('refuse an attempt at another account than its card [D14.106]', async () => {
    const card = await fixture.card('hsa');
    const attempt = (account: string) =>
      fixture.test.admin(
        `with intent as (
           insert into checkout.payment_intents (account_id, test_mode, id, invoice_id, leg, capture_method, status, amount_cents, created_at)
           values ($1, true, $2, $2, 'health', 'automatic', 'processing', 1000, now()))
         insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id,
           processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, acting_at, processor, processor_account)
         values ($1, true, $2, 'invoice', $2, 'health', 'invoice', $2, $3, 'pm', true, 'automatic', 1000, 'created', now(), now(), 'sandbox', $4)`,
        [fixture.scope.accountId, randomUUID(), card.id, account],
      );
    await expect(attempt('acct_anotheraccount')).rejects.toMatchObject({ constraint: 'charged_where_the_card_is' });
    await attempt(atFirst());
  });
});

it('a letter that a confirm holds needs no processor of today to be denied [D14.105]', async () => {
  const session = await lettersFixture(fixture).confirmed();
  await decideLetter(moved, fixture.scope, (await lettersFixture(fixture).onlyLetter(session)).id, 'denied');
  await sweep({ ...fixture.context, processors: openProcessors({}) });
  expect(await statusOf(session)).toBe('canceled');
  await sweep(moved);
  const [hold] = await fixture.charges(session);
  expect(hold).toMatchObject({ amount: 3_000, amount_captured: 0 });
});
