import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeNotices } from '../src/actions/change-notices.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { mailNotices } from '../src/jobs/send-mails.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { sell, someScope, start, useUtc } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';
import type { CardBehavior } from './peers.ts';

let on: MailFixture;
let scope: Scope;

beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  scope = on.nextScope();
});

const charge = async (day: string) => {
  on.at(`2026-05-${day}`);
  while (await runDueSubscriptions(on.context));
};
const mail = async () => {
  const job = mailNotices(on.context);
  while ((await job.run(new AbortController().signal)) === true);
};
const notices = () =>
  on.test.admin(
    'select attempt, status, failure_code as code from billing.notice_mails where account_id = $1 order by attempt, id',
    [scope.accountId],
  );

/** A subscription whose renewal fails on 1 May. */
async function failing(behavior: CardBehavior) {
  on.at(start);
  const sold = await sell(on, scope, { card: on.peers.card(true, behavior) });
  on.peers.emails.set(sold.customerId, 'ann@example.com');
  const invoiceId = async () =>
    (await findSubscription(on.database, scope, sold.subscriptionId))?.latestInvoiceId ?? '';
  return { ...sold, invoiceId };
}

describe('the mail about a card that is not charged again', () => {
  it.each<[CardBehavior, string]>([
    ['expired_card', 'Your card has expired.'],
    ['stolen_card', 'Your bank declined the payment'],
  ])(
    'says in live mode without any setting that a card with %s is not charged again, unless the operator turned that off [D14.327]',
    async (behavior, why) => {
      scope = { ...someScope(), testMode: false };
      await useUtc(on, scope);
      const { invoiceId } = await failing(behavior);
      await failing('insufficient_funds');
      await charge('01');
      for (let run = 0; run < 2; run++) await mail();
      expect(on.server.mails).toHaveLength(1);
      for (const part of [why, 'will not be charged again', 'by May 8, 2026', await invoiceId()]) {
        expect(on.readMail().text).toContain(part);
      }
      for (const change of [{ mailsAuthentications: false }, { merchantName: null }]) {
        scope = { ...someScope(), testMode: false };
        await changeNotices(on.database, scope, change);
        await failing(behavior);
        await charge('01');
        expect(await notices()).toEqual([]);
      }
      scope = someScope();
      await failing(behavior);
      await charge('01');
      expect(await notices()).toEqual([]);
    },
  );

  it('is not about an amount that no card can be charged, but for an account with a name [D14.327]', async () => {
    for (const [merchantName, expected] of [
      [null, 0],
      ['Care', 1],
    ] as const) {
      scope = { ...someScope(), testMode: false };
      if (merchantName !== null) await changeNotices(on.database, scope, { merchantName });
      on.at(start);
      await sell(on, scope, { items: [{ unitAmountCents: 60_000_000 }] });
      await charge('01');
      expect(await notices()).toHaveLength(expected);
    }
  });

  it('of an amount that no card can be charged asks to talk to the shop, and names no other card [D14.389]', async () => {
    await changeNotices(on.database, scope, { merchantName: 'Care' });
    await useUtc(on, scope);
    on.at(start);
    const { customerId } = await sell(on, scope, { items: [{ unitAmountCents: 60_000_000 }] });
    on.peers.emails.set(customerId, 'ann@example.com');
    await charge('01');
    await mail();
    const { text } = on.readMail();
    for (const part of [
      'No card can be charged for the payment of $1,200,000.00 for your subscription at Care',
      'If the shop does not change it by May 8, 2026, your subscription ends.',
      'Another card does not help. Ask the shop to change the payment.',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toMatch(/declined|with another card/);
  });

  it('says that a card is not charged again where an account with a name turned off the mails that ask to confirm [D14.191, D14.327]', async () => {
    scope = { ...someScope(), testMode: false };
    await changeNotices(on.database, scope, { merchantName: 'Care', mailsAuthentications: false });
    await failing('expired_card');
    await charge('01');
    await mail();
    expect(on.readMail().text).toContain('Your card has expired.');
  });

  it('does not say that a card is not charged again once there is another one [D14.327]', async () => {
    scope = { ...someScope(), testMode: false };
    const { subscriptionId } = await failing('expired_card');
    await charge('01');
    const fresh = on.peers.card(true, 'insufficient_funds');
    await on.test.admin('update billing.subscriptions set default_payment_method_id = $2 where id = $1', [
      subscriptionId,
      fresh,
    ]);
    await mail();
    expect(await notices()).toEqual([{ attempt: 1, status: 'dropped', code: 'changed' }]);
  });
});
