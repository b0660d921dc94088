import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema, type JournalEntry } from '@eligo/proto/events/v1/events';
import { firstTurn } from '@eligo/service';
import { timeOfId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tellJournal } from '../src/actions/tell-journal.ts';
import { tellJournals } from '../src/jobs/tell-journal.ts';
import { findCharge } from '../src/store/charges.ts';
import { dueJournal, journalLagSeconds } from '../src/store/journal.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());

const due = (at = `now() - interval '1 second'`) =>
  fixture.test.admin(`update checkout.ledger_entries set tell_at = ${at} where tell_at is not null`);

async function told(): Promise<JournalEntry[]> {
  const rows = await fixture.test.admin<{ payload: Buffer }>(
    `select payload from checkout.outbox where type = 'command.journal' order by event_id`,
  );
  return rows.flatMap(({ payload }) => {
    const { object } = fromBinary(EventSchema, payload);
    return object.case === 'journalEntries' ? object.value.entries : [];
  });
}

async function confirmed() {
  const card = await fixture.card('hsa');
  const session = await fixture.mixedSession(card);
  const { paymentIntent } = await fixture.confirm(session, card);
  return {
    session,
    paymentIntentId: paymentIntent?.paymentIntentId ?? '',
    chargeId: paymentIntent?.latestChargeId ?? '',
  };
}

it('a capture is told to the ledger once, with what the processor calls it and the balance transaction that its charge shows [D14.150]', async () => {
  const { session, paymentIntentId, chargeId } = await confirmed();
  const charge = await findCharge(fixture.database, fixture.scope, chargeId);
  expect(charge?.balanceTransactionId).toBe(chargeId.replace('fch_', 'fbtxn_'));
  await due();
  await Promise.all([tellJournal(fixture.context, fixture.scope), tellJournal(fixture.context, fixture.scope)]);
  await tellJournal(fixture.context, fixture.scope);
  const entries = await told();
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({
    ...{
      kind: 'capture',
      amountCents: 4_000n,
      paymentIntentId,
      chargeId,
      sourceId: chargeId,
      checkoutSessionId: session.id,
    },
    ...{ processor: 'sandbox', balanceTransactionId: charge?.balanceTransactionId },
    processorAccount: expect.stringMatching(/^acct_/),
    processorChargeId: expect.stringMatching(/^ch_/),
  });
  expect(timeOfId('ledger_transaction', entries[0]?.entryId ?? '')).toBeInstanceOf(Date);
});

it('captures are told for accounts in turns: a backlog of one is no other’s [D14.164]', async () => {
  const { paymentIntentId } = await confirmed();
  await due();
  await tellJournal(fixture.context, fixture.scope);
  const copies = (account: string, count: number, at: string) =>
    fixture.test.admin(
      `insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind, payment_intent_id, source_id, created_at, tell_at)
       select $1, test_mode, 'fltx_' || $1 || n, debit_account, credit_account, 3, kind, payment_intent_id, 'fcap_' || n, created_at, $2::timestamptz
         from checkout.ledger_entries, generate_series(1, $3::int) n where payment_intent_id = $4 limit $3::int`,
      [account, at, count, paymentIntentId],
    );
  await copies('facct_busy', 600, '2020-01-01');
  await copies('facct_quiet', 1, '2021-01-01');
  try {
    const turns = await dueJournal(fixture.database, firstTurn, 10);
    expect(turns.due.map(({ accountId }) => accountId)).toEqual(['facct_busy', 'facct_quiet']);
    expect(turns.last).toBeUndefined();
    const [first] = turns.due;
    const one = await dueJournal(fixture.database, firstTurn, 1);
    expect(one).toMatchObject({ due: [first], last: first });
    expect((await dueJournal(fixture.database, one.last ?? firstTurn, 1)).due).toEqual([turns.due[1]]);
  } finally {
    await fixture.test.admin(`delete from checkout.ledger_entries where account_id in ('facct_busy', 'facct_quiet')`);
  }
});

it('what earlier releases captured is told by the same job, page by page, and its sum stays [D14.153]', async () => {
  const { paymentIntentId } = await confirmed();
  await due();
  await tellJournal(fixture.context, fixture.scope);
  await fixture.test.admin(
    `insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind, payment_intent_id, source_id, created_at)
     select account_id, test_mode, 'fltx_old' || n, debit_account, credit_account, 3, kind, payment_intent_id, 'fcap_' || n, created_at
       from checkout.ledger_entries, generate_series(1, 250) n where payment_intent_id = $1`,
    [paymentIntentId],
  );
  await due(`'2020-01-01'`);
  expect(await journalLagSeconds(fixture.database)).toBe(0);
  const before = await told();
  const job = tellJournals(fixture.context);
  expect(await job.run(new AbortController().signal)).toBe(true);
  const part = (await told()).length - before.length;
  expect(part).toBe(100);
  while ((await job.run(new AbortController().signal)) === true);
  const entries = (await told()).slice(before.length);
  expect(new Set(entries.map(({ entryId }) => entryId)).size).toBe(250);
  expect(entries.reduce((sum, { amountCents }) => sum + amountCents, 0n)).toBe(750n);
});

it('captures of one charge of an earlier release have a balance transaction each, also on two pages: the first has the one that the charge shows [D14.153]', async () => {
  const { paymentIntentId, chargeId } = await confirmed();
  await due();
  await tellJournal(fixture.context, fixture.scope);
  await fixture.test.admin('update checkout.charges set balance_transaction_id = null where id = $1', [chargeId]);
  await fixture.test.admin(
    `insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind, payment_intent_id, source_id, created_at)
     select account_id, test_mode, 'fltx_part' || n, debit_account, credit_account, 3, kind, payment_intent_id, 'fcap_part' || n, created_at
       from checkout.ledger_entries, generate_series(101, 250) n where payment_intent_id = $1`,
    [paymentIntentId],
  );
  await due(`'2020-01-01'`);
  const before = (await told()).length;
  while (await tellJournal(fixture.context, fixture.scope));
  const ids = (await told()).slice(before).map(({ balanceTransactionId }) => balanceTransactionId);
  expect(ids).toHaveLength(150);
  expect(new Set(ids).size).toBe(150);
  const shown = (await findCharge(fixture.database, fixture.scope, chargeId))?.balanceTransactionId;
  expect(ids.indexOf(shown ?? '')).toBe(0);
});

it.each([
  ['this release', false],
  ['an earlier release, which named it by the capture alone', true],
])(
  'a capture of two cards by %s has a balance transaction for each, which its charge shows [D14.158]',
  async (_, isOld) => {
    const session = await fixture.held();
    await fixture.capture(session, { amount: 5_000 });
    const charges = () =>
      fixture.test.admin<{ id: string; balance_transaction_id: string }>(
        `select c.id, c.balance_transaction_id from checkout.charges c join checkout.payment_intents i on i.latest_charge_id = c.id where i.session_id = $1`,
        [session.id],
      );
    const named = Map.groupBy(await charges(), (charge) => charge.balance_transaction_id);
    expect(named.size).toBe(2);
    if (isOld) {
      const byCapture = (await fixture.records(session))[0]?.id.replace('fcap_', 'fbtxn_');
      await fixture.test.admin('update checkout.charges set balance_transaction_id = $2 where id = any($1)', [
        (await charges()).map(({ id }) => id),
        byCapture,
      ]);
    }
    await due();
    await tellJournal(fixture.context, fixture.scope);
    const entries = (await told()).slice(-2);
    const shown = new Map((await charges()).map((charge) => [charge.id, charge.balance_transaction_id]));
    expect(new Set(shown.values()).size).toBe(2);
    for (const { chargeId, balanceTransactionId } of entries) expect(shown.get(chargeId)).toBe(balanceTransactionId);
  },
);

it('a capture at a processor that is not configured waits, and does not keep the job busy [D14.153]', async () => {
  await confirmed();
  await due(`now() - interval '90 seconds'`);
  expect(await journalLagSeconds(fixture.database)).toBeGreaterThan(89);
  await fixture.test.admin('alter table checkout.payment_intents disable trigger user');
  await fixture.test.admin('update checkout.payment_intents set processor = null, processor_account = null');
  await fixture.test.admin('alter table checkout.payment_intents enable trigger user');
  const before = (await told()).length;
  const none = { ...fixture.context.processors, findOf: () => undefined };
  await tellJournal({ ...fixture.context, processors: none }, fixture.scope);
  expect((await told()).length).toBe(before);
  expect(await journalLagSeconds(fixture.database)).toBe(0);
  // Once it is configured again.
  await due();
  await tellJournal(fixture.context, fixture.scope);
  expect((await told()).length).toBe(before + 1);
});
