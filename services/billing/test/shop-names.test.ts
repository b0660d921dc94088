import { type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { mailNotices } from '../src/jobs/send-mails.ts';
import { findShopName, recordShopName } from '../src/store/shop-names.ts';
import { sell, someScope, start } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';

let on: MailFixture;
let scope: Scope;
beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  scope = { ...on.nextScope(), testMode: false };
});

const tell = (name: string, version: bigint, as = scope) =>
  withTx(on.database, as, (tx) => recordShopName(tx, as, { name, version }));
const found = () => findShopName(on.database, scope);

/** The subject of the mail about a renewal that the bank asks to confirm. */
async function subjectOfMail(): Promise<string | undefined> {
  on.at(start);
  const { subscriptionId, customerId } = await sell(on, scope, {
    card: on.peers.card(true, 'authentication_required'),
  });
  on.peers.emails.set(customerId, 'ann@example.com');
  await on.test.admin(
    `insert into billing.receipts (account_id, test_mode, id, checkout_session_id, subscription_id, email, amount_cents, content, created_at)
     values ($1, false, $2, $3, $4, 'a@b.example', 1, '{"merchantName": "The old name"}', now())`,
    [scope.accountId, newId('receipt'), newId('checkout_session'), subscriptionId],
  );
  on.at('2026-05-01T12:00:00Z');
  while (await runDueSubscriptions(on.context));
  const job = mailNotices(on.context);
  while ((await job.run(new AbortController().signal)) === true);
  return on.readMail().subject;
}

describe('what shoppers call a shop', () => {
  it('is in the mail that asks to confirm a renewal, as the account is called when it is sent [D14.367]', async () => {
    await tell('Corner Care', 1n);
    await tell('Corner Pharmacy', 2n);
    expect(await subjectOfMail()).toBe('Confirm your payment to Corner Pharmacy');
  });

  it('is what the receipts say while the gateway has told nothing [D14.367]', async () => {
    expect(await subjectOfMail()).toBe('Confirm your payment to The old name');
  });

  it('is the newest, whatever comes late, and is the account’s own [D14.367]', async () => {
    await tell('Second', 2n);
    await tell('First', 1n);
    await tell('Again', 2n);
    expect(await found()).toBe('Second');
    await tell('Another', 9n, { ...someScope(), testMode: false });
    expect(await found()).toBe('Second');
    await expect(tell('Test', 3n, { ...scope, testMode: true })).rejects.toMatchObject({
      constraint: 'shop_names_of_live_mode',
    });
    const goBack = on.test.admin('update billing.shop_names set version = version - 1 where account_id = $1', [
      scope.accountId,
    ]);
    await expect(goBack).rejects.toMatchObject({ constraint: 'shop_names_ascend' });
  });
});
