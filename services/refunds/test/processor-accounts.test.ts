import { fillProcessorAccounts, openProcessors, sandboxAccountOf } from '@eligo/processor';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { carryOutAttempt } from '../src/actions/carry-out-attempt.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Context } from '../src/context.ts';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const another = { processor: 'sandbox', account: 'acct_anotheraccount' } as const;
const itemsOf = (refundId: string) =>
  on.admin('select processor, processor_account from refunds.refund_items where refund_id = $1', [refundId]);
const attemptsOf = (refundId: string) =>
  on.admin<{ id: string; status: string; checks: number; sends: number; seconds: number }>(
    `select id, status, checks, sends, round(extract(epoch from next_check_at - lease_until))::int as seconds
       from refunds.refund_attempts where refund_id = $1`,
    [refundId],
  );

it('a refund goes to the account that has the money, whichever account new money goes to [D14.105]', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 }, another);
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
  expect(await on.atProcessor(session)).toMatchObject([{ amount: 2_000, status: 'succeeded' }]);
  expect(await itemsOf(refund?.refundId ?? '')).toEqual([{ processor: 'sandbox', processor_account: another.account }]);
});

it('a live refund needs the processor that has the money, and none for new money [D14.105]', async () => {
  const scope = { accountId: newId('account'), testMode: false };
  const session = await on.paid(scope, { hsa: 2_000 }, another);
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
  const at = { processor: 'stripe', account: 'self' } as const;
  const elsewhere = {
    id: newId('checkout_session'),
    cards: session.cards.map((card) => ({ ...card, paymentIntentId: newId('payment_intent'), processorAccount: at })),
  };
  on.checkout.paid(elsewhere);
  const refused = on.refunds.refundSession({ sessionId: elsewhere.id }, on.as(scope));
  await expect(refused).rejects.toMatchObject({ code: 'processor_not_configured' });
});

it('a refund waits without a check while its processor is not configured, and is then carried out [D14.105]', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 }, another);
  await on.fault({ call: 'refunds.create', kind: 'drop_before' });
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  const id = refund?.refundId ?? '';
  await expect.poll(async () => (await attemptsOf(id))[0]?.status).toBe('unknown');
  const [left] = await attemptsOf(id);
  const told: unknown[] = [];
  const refunds = {
    ...{ database: on.service.database, budgets: defaultBudgets },
    processors: openProcessors({}, { onNotConfigured: (account) => void told.push(account) }),
  } as unknown as Context;
  await on.admin("update refunds.refund_attempts set lease_until = now() - interval '1 s' where refund_id = $1", [id]);
  await carryOutAttempt(refunds, scope, left?.id ?? '');
  expect(await attemptsOf(id)).toEqual([{ ...left, seconds: 60 }]);
  expect(told).toEqual([another]);
  await on.sweep();
  await untilStatus(on, scope, id, 'succeeded');
});

it('parts of the release that did not store the account are filled, and stay there [D14.105]', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  const id = refund?.refundId ?? '';
  await untilStatus(on, scope, id, 'succeeded');
  expect(await itemsOf(id)).toEqual([{ processor: null, processor_account: null }]);
  await on.service.jobs.runOnce('fill-processor-accounts');
  expect(await itemsOf(id)).toEqual([{ processor: 'sandbox', processor_account: sandboxAccountOf(scope) }]);
  const moved = on.admin("update refunds.refund_items set processor_account = 'acct_other' where refund_id = $1", [id]);
  await expect(moved).rejects.toMatchObject({ code: '23514', constraint: 'processor_account_is_final' });
});

it('the job passes over accounts without a processor, and comes back to them [D14.105]', async () => {
  const scopes = ['facct_1', 'facct_2', 'facct_3'].map((accountId) => ({ accountId, testMode: false }));
  const left = new Set(scopes.map(({ accountId }) => accountId));
  const skipped: string[] = [];
  const { testMode } = someScope();
  const processors = {
    findOf: ({ accountId }: { accountId: string }) =>
      accountId === 'facct_2' && skipped.length < 1
        ? openProcessors({}).findOf({ accountId, testMode })
        : { account: another },
  } as unknown as ReturnType<typeof openProcessors>;
  const job = fillProcessorAccounts(
    processors,
    {
      next: async (after) => scopes.find(({ accountId }) => left.has(accountId) && accountId > after.accountId),
      fill: async ({ accountId }) => !left.delete(accountId),
    },
    ({ accountId }) => void skipped.push(accountId),
  );
  expect([await job.run(new AbortController().signal), [...left], skipped]).toEqual([false, ['facct_2'], ['facct_2']]);
  await job.run(new AbortController().signal);
  expect([...left]).toEqual([]);
});
