import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeBackupAgreement } from '../src/actions/change-backup-agreement.ts';
import { changeNotices } from '../src/actions/change-notices.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Context } from '../src/context.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { mailSubscriptions } from '../src/jobs/send-mails.ts';
import { callOf, sell, someScope, start, useUtc } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';
import { callsOn } from './subscription-calls.ts';

let on: MailFixture;
let scope: Scope;
const { update, read: readBoth } = callsOn(
  () => on,
  () => scope,
);

beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  scope = on.nextScope();
  await useUtc(on, scope);
  await changeNotices(on.database, scope, { merchantName: 'Care & <b>Co', reminderDays: 7, manageUrl });
});

const manageUrl = 'https://care.example/account';
const runAt = async (time: string, context: Context = on.context) => {
  on.at(time);
  while (await runDueSubscriptions(context));
};
const mail = async (context: Context = on.context) => {
  while ((await mailSubscriptions(context).run(new AbortController().signal)) === true);
};
const mails = () =>
  on.test.admin(
    'select kind, about, status, failure_code as code from billing.subscription_mails where account_id = $1 order by about',
    [scope.accountId],
  );

async function sold(parts: Parameters<typeof sell>[2] = {}) {
  on.at(start);
  const made = await sell(on, scope, parts);
  on.peers.emails.set(made.customerId, 'ann@example.com');
  return made;
}

const yearly = [{ interval: 'year' }] as const;

describe('the mail before a trial or a year ends', () => {
  it.each<[string, Parameters<typeof sell>[2], string, string, string[]]>([
    [
      'a trial',
      { trialDays: 20 },
      '2026-04-14T00:00:00Z',
      'Your trial at Care & <b>Co ends on April 21, 2026',
      ['$30.00 will then be charged to your card ending in 4242.'],
    ],
    [
      'a trial without a card that then ends',
      { trialDays: 20, card: null, missingPaymentMethod: 'cancel' },
      '2026-04-14T00:00:00Z',
      'Your trial at Care & <b>Co ends on April 21, 2026',
      ['There is no card to charge. Without one, your subscription ends then.'],
    ],
    [
      'a trial with a health card alone that cannot pay, and that then ends',
      {
        ...{ trialDays: 20, card: null, missingPaymentMethod: 'cancel' },
        get backup() {
          return on.peers.card(true);
        },
        items: [{ eligibility: 'not_eligible' }],
      },
      '2026-04-14T00:00:00Z',
      'Your trial at Care & <b>Co ends on April 21, 2026',
      ['There is no card to charge. Without one, your subscription ends then.'],
    ],
    [
      'a trial without a card that then owes',
      { trialDays: 20, card: null },
      '2026-04-14T00:00:00Z',
      'Your trial at Care & <b>Co ends on April 21, 2026',
      ['There is no card to charge for the $30.00 that you then owe.'],
    ],
    [
      'a trial that is shorter than a week, at its beginning',
      { trialDays: 3 },
      '2026-04-01T00:00:00Z',
      'Your trial at Care & <b>Co ends on April 4, 2026',
      ['$30.00 will then be charged'],
    ],
    [
      'a year with a discount',
      { items: yearly, coupons: [{ couponId: newId('coupon'), percentOffBasisPoints: 5_000, duration: 'forever' }] },
      '2027-03-25T00:00:00Z',
      'Your subscription at Care & <b>Co renews on April 1, 2027',
      ['$15.00 will then be charged to your card ending in 4242.'],
    ],
    [
      'twelve months',
      { items: [{ intervalCount: 12 }] },
      '2027-03-25T00:00:00Z',
      'Your subscription at Care & <b>Co renews on April 1, 2027',
      ['$30.00 will then be charged'],
    ],
  ])('tells of %s what happens then, and when [D14.192]', async (_what, parts, time, subject, texts) => {
    await sold(parts);
    await runAt(new Date(Date.parse(time) - 1).toISOString());
    expect(await mails()).toEqual([]);
    await runAt(time);
    await runAt(time);
    await mail();
    await mail();
    expect(on.server.mails).toHaveLength(1);
    const { to, text, ...shown } = on.readMail();
    expect(to).toBe('ann@example.com');
    expect(shown.subject).toBe(`[Test] ${subject}`);
    for (const part of [...texts, 'Test mode', manageUrl]) expect(text).toContain(part);
    expect(text).not.toContain('<b>');
  });

  it.each([
    ['ends', { missingPaymentMethod: 'cancel' }, 'Without one, your subscription ends then.'],
    ['owes', {}, 'There is no card to charge for the $30.00 that you then owe.'],
  ])(
    'names no card of a trial that was detached, and says that it %s [D14.192, D14.338]',
    async (_what, parts, said) => {
      const { card } = await sold({ trialDays: 20, ...parts });
      on.peers.detach(card);
      await runAt('2026-04-14T00:00:00Z');
      await mail();
      expect(on.readMail().text).toContain(said);
      expect(on.readMail().text).not.toMatch(/4242|will then be charged/);
    },
  );

  it.each([
    [
      'the backup card that pays, where that is agreed',
      true,
      '$30.00 will then be charged to your card ending in 1881.',
    ],
    ['no card, where that is not agreed', false, 'Without one, your subscription ends then.'],
  ])('names %s, of a trial whose health card was detached [D14.192, D14.338]', async (_what, isAgreed, said) => {
    await changeBackupAgreement(on.database, scope, isAgreed);
    const { card } = await sold({ trialDays: 20, missingPaymentMethod: 'cancel', backup: on.peers.card(false) });
    on.peers.detach(card);
    await runAt('2026-04-14T00:00:00Z');
    await mail();
    expect(on.readMail().text).toContain(said);
  });

  it('asks checkout once for each card [D14.192]', async () => {
    const backup = on.peers.card(false);
    const { card } = await sold({ items: yearly, backup });
    await runAt('2027-03-25T00:00:00Z');
    const { checkout } = on.context;
    const asked: string[] = [];
    const getPaymentMethod: typeof checkout.getPaymentMethod = (request, ...rest) => {
      asked.push(request.id ?? '');
      return checkout.getPaymentMethod(request, ...rest);
    };
    await mail({ ...on.context, checkout: { ...checkout, getPaymentMethod } });
    expect(asked.toSorted()).toEqual([card, backup].toSorted());
    expect(on.server.mails).toHaveLength(1);
  });

  it('names both cards, and the period that then begins has its own mail a year later [D14.192]', async () => {
    const { subscriptionId } = await sold({
      items: [{ interval: 'year' }, { interval: 'year', eligibility: 'not_eligible' }],
      backup: on.peers.card(false),
    });
    await runAt('2027-03-25');
    await mail();
    expect(on.readMail().text).toContain('$60.00 will then be charged to your cards ending in 4242 and 1881.');
    await runAt('2027-04-01');
    expect((await readBoth(subscriptionId)).invoice.status).toBe('paid');
    await runAt('2028-03-25');
    await mail();
    expect((await mails()).map(({ about, status }) => [about, status])).toEqual([
      [new Date('2027-04-01'), 'sent'],
      [new Date('2028-04-01'), 'sent'],
    ]);
  });

  it('is not made of a month, of what ends with its period, and of an account that mails none [D14.192]', async () => {
    await sold();
    await sold({ items: yearly, cancelAtPeriodEnd: true });
    await runAt('2027-03-26');
    expect(await mails()).toEqual([]);
    for (const change of [{ reminderDays: null }, { merchantName: null }]) {
      scope = someScope();
      await changeNotices(on.database, scope, { merchantName: 'Care', reminderDays: 7 });
      await sold({ items: yearly });
      await changeNotices(on.database, scope, change);
      await runAt('2027-03-26');
      expect(await mails()).toEqual([]);
    }
  });

  it('is made as many days ahead as the account says, a week of what was sold before [D14.192]', async () => {
    await changeNotices(on.database, scope, { merchantName: null });
    await sold({ items: yearly });
    await changeNotices(on.database, scope, { merchantName: 'Care', reminderDays: 30 });
    await sold({ items: yearly });
    await runAt('2027-03-02');
    expect(await mails()).toHaveLength(1);
    await runAt('2027-03-25');
    expect(await mails()).toHaveLength(2);
  });

  it('is not made after the time that it is about, and follows a trial that is made longer [D14.192]', async () => {
    const { subscriptionId } = await sold({ trialDays: 20 });
    on.at('2026-04-14');
    await runAt('2026-04-15');
    on.at('2026-04-15T01:00:00Z');
    await update(subscriptionId, { trialEnd: new Date('2026-05-20') });
    await runAt('2026-05-13');
    await mail();
    expect(await mails()).toMatchObject([
      { about: new Date('2026-04-21'), status: 'dropped', code: 'changed' },
      { about: new Date('2026-05-20'), status: 'sent' },
    ]);
    scope = someScope();
    await changeNotices(on.database, scope, { merchantName: 'Care', reminderDays: 7 });
    await sold({ trialDays: 20 });
    await runAt('2026-04-22');
    expect(await mails()).toEqual([]);
  });

  it('is dropped once it says what is not so any more [D14.192]', async () => {
    const whatHappens: [string, (made: Awaited<ReturnType<typeof sold>>) => Promise<unknown>][] = [
      ['changed', ({ subscriptionId }) => update(subscriptionId, { cancelAtPeriodEnd: true })],
      ['changed', async () => runAt('2026-04-21')],
      ['no_address', async ({ customerId }) => on.peers.deleteCustomer(customerId)],
      ['turned_off', () => changeNotices(on.database, scope, { reminderDays: null })],
      ['turned_off', () => changeNotices(on.database, scope, { merchantName: null })],
    ];
    for (const [code, happens] of whatHappens) {
      scope = someScope();
      await changeNotices(on.database, scope, { merchantName: 'Care', reminderDays: 7 });
      const made = await sold({ trialDays: 20 });
      await runAt('2026-04-14');
      await happens(made);
      await mail();
      expect(await mails()).toMatchObject([{ status: 'dropped', code }]);
    }
    expect(on.server.mails).toHaveLength(0);
  });

  it('is one mail of two instances, and one Message-ID after a crash [D14.192]', async () => {
    await sold({ trialDays: 20 });
    let crashed = false;
    const failpoint: Context['failpoint'] = (reached) => {
      if (crashed || reached !== 'mail.sent') return undefined;
      crashed = true;
      throw new Error('killed');
    };
    const context = { ...on.context, failpoint };
    on.at('2026-04-14');
    await Promise.all([runDueSubscriptions(context), runDueSubscriptions(on.another())]);
    await mail(context);
    await on.test.admin(
      "update billing.subscription_mails set next_try_at = now() - interval '1 second' where status = 'pending'",
    );
    await mail(context);
    expect(crashed).toBe(true);
    expect(await mails()).toMatchObject([{ kind: 'trial_end', status: 'sent' }]);
    expect(on.server.mails).toHaveLength(2);
    expect(new Set(on.server.mails.map(({ data }) => /^Message-ID: (\S+)/m.exec(data)?.[1])).size).toBe(1);
  });

  it('goes by a test clock [D14.192]', async () => {
    const call = callOf(scope);
    const clock = await createTestClock(on.context, call, { frozenTime: start, name: null });
    await sold({ trialDays: 20, items: yearly, testClockId: clock.id });
    await advanceTestClock(on.context, call, clock.id, new Date('2026-04-15'));
    await mail();
    expect(on.readMail().subject).toContain('ends on April 21, 2026');
    await advanceTestClock(on.context, call, clock.id, new Date('2027-04-20'));
    expect(await mails()).toMatchObject([
      { kind: 'trial_end', about: new Date('2026-04-21'), status: 'sent' },
      { kind: 'renewal', about: new Date('2027-04-21') },
    ]);
    await mail();
    expect(on.readMail(1).subject).toContain('renews on April 21, 2027');
  });
});

describe('the mail after the last failed payment', () => {
  async function ended() {
    const made = await sold({ card: on.peers.card(true, 'insufficient_funds') });
    for (const day of ['01', '02', '04', '06', '08']) await runAt(`2026-05-${day}`);
    expect((await readBoth(made.subscriptionId)).subscription.status).toBe('canceled');
    return made;
  }

  it('says once that the subscription has ended, and where to subscribe again [D14.192]', async () => {
    await ended();
    await mail();
    await mail();
    expect(on.server.mails).toHaveLength(1);
    expect(on.readMail().subject).toBe('[Test] Your subscription at Care & <b>Co has ended');
    for (const part of ['the payment of $30.00 failed', 'No further charge is scheduled.', manageUrl]) {
      expect(on.readMail().text).toContain(part);
    }
  });

  it('needs no reminders to be on, and is dropped once the invoice is void [D14.192]', async () => {
    await changeNotices(on.database, scope, { reminderDays: null });
    const { subscriptionId } = await ended();
    await voidInvoice(on.context, callOf(scope), (await readBoth(subscriptionId)).invoice.id);
    await mail();
    expect(await mails()).toMatchObject([{ kind: 'ended', status: 'dropped', code: 'changed' }]);
  });
});

it('the database refuses a second mail of a kind and time, one about what is not so, and a change of one that was sent [D14.192]', async () => {
  const { subscriptionId } = await sold({ trialDays: 20 });
  await runAt('2026-04-14');
  await mail();
  const insert = (kind: string, about: string) =>
    on.test.admin(
      `insert into billing.subscription_mails (account_id, test_mode, id, subscription_id, kind, about, status, next_try_at, created_at)
       values ($1, true, $2, $3, $4, $5, 'pending', now(), now())`,
      [scope.accountId, newId('subscription_mail'), subscriptionId, kind, about],
    );
  await expect(insert('trial_end', '2026-04-21')).rejects.toThrow('one_mail_of_a_kind_time_and_invoice');
  for (const [kind, about] of [
    ['trial_end', '2026-04-22'],
    ['renewal', '2026-04-21'],
    ['ended', '2026-04-21'],
  ] as const) {
    await expect(insert(kind, about)).rejects.toThrow('a mail is about what its subscription is');
  }
  const change =
    "update billing.subscription_mails set status = 'pending', sent_at = null, next_try_at = now() - interval '1 second' where account_id = $1";
  await expect(on.test.admin(change, [scope.accountId])).rejects.toThrow('is sent');
});
