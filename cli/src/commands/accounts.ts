import { userInfo } from 'node:os';
import { changeBackupAgreement, changeRenewalSpread } from '@eligo/billing';
import {
  type Account,
  type AccountChange,
  assertAccount,
  createAccount,
  createKey,
  createOrganization,
  isSubstantiation,
  listAccounts,
  resendAccounts,
  substantiations,
  updateAccount,
} from '@eligo/gateway/accounts';
import type { Database } from '@eligo/postgres';
import { type Command, type Given, UsageError } from '../command.ts';
import { withAccounts, withComponent } from '../connect.ts';
import { yesOrNo } from '../yes-or-no.ts';
import { dunningLine, dunningOf, dunningOptions, updateDunning } from './dunning.ts';
import { checkNotices, noticeLine, noticeOptions, noticeUpdateOf, updateNotices } from './notices.ts';

/** Accounts and organizations. */
export const accountCommands: readonly Command[] = [
  {
    name: 'accounts create',
    usage: '--name NAME [--feature FEATURE]… [--organization forg_…] [--time-zone ZONE]',
    summary:
      'Creates an account with a test key and a live key. The keys are shown only once. Its receipts and invoices show the days of the time zone, America/New_York if none is given.',
    options: {
      name: { type: 'string' },
      feature: { type: 'string', multiple: true },
      organization: { type: 'string' },
      'time-zone': { type: 'string' },
    },
    async run(given) {
      const created = await withAccounts(async (database) => {
        const account = await createAccount(database, {
          name: given.needed('name'),
          features: given.list('feature'),
          organizationId: given.text('organization'),
          timeZone: given.text('time-zone'),
        });
        const accountId = account.account_id;
        const test = await createKey(database, { accountId, testMode: true });
        const live = await createKey(database, { accountId, testMode: false });
        return { account: accountId, test_api_key: test.api_key, live_api_key: live.api_key };
      });
      return {
        json: created,
        lines: [
          `account   ${created.account}`,
          `test key  ${created.test_api_key}`,
          `live key  ${created.live_api_key}`,
          'Save the keys now; they are not shown again.',
        ],
      };
    },
  },
  {
    name: 'accounts update',
    usage:
      'ACCOUNT [--name NAME] [--feature F]… [--no-feature F]… [--organization forg_…|none] [--substantiation medical_mcc|ninety_percent|iias|none [--by WHO]] [--display-name NAME] [--logo-url URL] [--accent-color COLOR] [--ship-to US,CA,…] [--publishable-key pk_live_…] [--letter-fee CENTS] [--time-zone ZONE] [--notice-name NAME|none] [--notice-reminder-days DAYS|none] [--notice-url URL|none] [--notice-invoices yes|no] [--notice-authentications yes|no] [--notice-mode test|live] [--renewal-spread MINUTES] [--backup-pays-refused yes|no] [--dunning-days DAYS] [--dunning-end canceled|unpaid]',
    summary:
      'Updates an account. The change takes effect within seconds. An account without a substantiation cannot charge HSA and FSA cards in live mode. Its checkout pages show the display name, the logo and the accent color (#0a7d5c); in live mode its publishable key loads the card fields of Stripe. A page that asks for an address accepts the countries of --ship-to, and only the United States if none are given. The value none clears an option. Sessions that need a letter of medical necessity charge the letter fee, 0 to 99999 cents. Receipts, invoices and emails show the days of the time zone, such as America/Chicago; existing receipts and invoices keep theirs. With a --notice-name the account emails its customers about failed renewals. --notice-reminder-days adds a reminder that many days before a trial ends or an annual renewal. --notice-invoices yes adds an email for each paid invoice. The emails link to --notice-url. In live mode, and in test mode with a notice name, a customer whose bank asks to confirm a payment gets an email, and so does one whose card is not charged again; --notice-authentications no turns both off. With a notice name, the account still emails about cards that are not charged again. --notice-name none turns all emails off, until the next name. Renewals are charged within --renewal-spread minutes (0 to 60) after they are due. With --backup-pays-refused yes, the other card of a subscription pays the part of a renewal that its health card refuses; the customers of the account must have agreed to that. A failed renewal is retried --dunning-days days after its first failure (1,3,5,7 by default). After the last retry the subscription is canceled, or with --dunning-end unpaid stays unpaid.',
    words: ['ACCOUNT'],
    options: {
      name: { type: 'string' },
      feature: { type: 'string', multiple: true },
      'no-feature': { type: 'string', multiple: true },
      organization: { type: 'string' },
      substantiation: { type: 'string' },
      by: { type: 'string' },
      'display-name': { type: 'string' },
      'logo-url': { type: 'string' },
      'accent-color': { type: 'string' },
      'ship-to': { type: 'string' },
      'publishable-key': { type: 'string' },
      'letter-fee': { type: 'string' },
      'time-zone': { type: 'string' },
      ...noticeOptions,
      'renewal-spread': { type: 'string' },
      'backup-pays-refused': { type: 'string' },
      ...dunningOptions,
    },
    async run(given) {
      const [accountId = ''] = given.words;
      // All options are checked before anything is changed: a refused option changes nothing. A command that fails later may have made some of its changes.
      const change = accountChangeOf(given);
      const minutes = spreadOf(given.text('renewal-spread'));
      const isBackupAgreed = yesOrNo(given, 'backup-pays-refused');
      const dunning = dunningOf(given);
      const noticeUpdate = noticeUpdateOf(given);
      const update = () => withAccounts((database) => updateAccount(database, accountId, change));
      if ([minutes, isBackupAgreed, dunning, noticeUpdate].every((part) => part === undefined)) {
        const account = await update();
        return { json: { account }, lines: [lineOf(account)] };
      }
      // Billing does not know which accounts exist.
      await withAccounts((database) => assertAccount(database, accountId));
      return withComponent('billing', async (billing) => {
        if (noticeUpdate !== undefined) await checkNotices(billing, accountId, noticeUpdate);
        const account = await update();
        if (minutes !== undefined) await spreadRenewals(billing, accountId, minutes);
        if (isBackupAgreed !== undefined) await agreeToBackup(billing, accountId, isBackupAgreed);
        const dunnings = dunning && (await updateDunning(billing, accountId, dunning));
        const notices = noticeUpdate && (await updateNotices(billing, accountId, noticeUpdate));
        return {
          json: {
            account,
            ...(minutes === undefined ? {} : { renewal_spread_minutes: minutes }),
            ...(isBackupAgreed === undefined ? {} : { backup_pays_refused: isBackupAgreed }),
            ...(dunnings === undefined ? {} : { dunning: dunnings }),
            ...(notices === undefined ? {} : { notices }),
          },
          lines: [
            lineOf(account),
            ...(minutes === undefined ? [] : [spreadLine(minutes)]),
            ...(isBackupAgreed === undefined ? [] : [agreementLine(isBackupAgreed)]),
            ...(dunnings ?? []).map(dunningLine),
            ...(notices ?? []).map(noticeLine),
          ],
        };
      });
    },
  },
  {
    name: 'accounts list',
    usage: '',
    summary: 'Lists all accounts, oldest first.',
    readsOnly: true,
    showsAccounts: true,
    options: {},
    async run() {
      const accounts = await withAccounts((database) => listAccounts(database));
      return { json: { accounts }, lines: [...accounts.map(lineOf), `${accounts.length} accounts`] };
    },
  },
  {
    name: 'accounts resend',
    usage: '',
    summary:
      'Sends the features, shop name, time zone and substantiation of each account to billing and checkout again. Run it after you restore the schema of the gateway, billing or checkout alone from a backup. You can run it more than once, and while Eligo runs.',
    options: {},
    async run() {
      const accounts = await withAccounts((database) => resendAccounts(database));
      return {
        json: { accounts },
        lines: [`queued ${accounts} accounts; the gateway sends them to billing and checkout`],
      };
    },
  },
  {
    name: 'organizations create',
    usage: '--name NAME',
    summary: 'Creates an organization. Its accounts can read each other’s prices by id.',
    options: { name: { type: 'string' } },
    async run(given) {
      const organization = await withAccounts((database) =>
        createOrganization(database, { name: given.needed('name') }),
      );
      return {
        json: { organization: organization.organization_id, name: organization.name },
        lines: [`organization  ${organization.organization_id}`],
      };
    },
  },
];

function accountChangeOf(given: Given): AccountChange {
  const orNone = (name: string) => (given.text(name) === 'none' ? null : given.text(name));
  return {
    name: given.text('name'),
    addFeatures: given.list('feature'),
    removeFeatures: given.list('no-feature'),
    organizationId: orNone('organization'),
    substantiation: statementOf(given.text('substantiation'), given.text('by')),
    displayName: orNone('display-name'),
    logoUrl: orNone('logo-url'),
    accentColor: orNone('accent-color'),
    shippingCountries: given.text('ship-to') === 'none' ? null : given.text('ship-to')?.split(','),
    publishableKey: orNone('publishable-key'),
    letterFeeCents: letterFeeOf(given.text('letter-fee')),
    timeZone: given.text('time-zone'),
  };
}

// Kept as who said so: the name that is given, or that of the operator's user on this machine.
function statementOf(text: string | undefined, by: string | undefined): AccountChange['substantiation'] {
  if (text === undefined) {
    if (by !== undefined) throw new UsageError('--by requires --substantiation');
    return undefined;
  }
  if (text !== 'none' && !isSubstantiation(text)) {
    throw new UsageError(`--substantiation must be ${substantiations.join(', ')} or none`);
  }
  return { substantiation: text === 'none' ? null : text, setBy: by ?? userInfo().username };
}

function letterFeeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text)) throw new UsageError('--letter-fee must be whole cents, 0 to 99999');
  return Number(text);
}

function spreadOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,2}$/.test(text) || Number(text) > 60) throw new UsageError('--renewal-spread must be 0 to 60 minutes');
  return Number(text);
}

async function agreeToBackup(billing: Database, accountId: string, isAgreed: boolean): Promise<void> {
  for (const testMode of [true, false]) await changeBackupAgreement(billing, { accountId, testMode }, isAgreed);
}

function agreementLine(isAgreed: boolean): string {
  return `the other card of a subscription pays ${isAgreed ? 'what' : 'nothing that'} its health card refuses`;
}

async function spreadRenewals(billing: Database, accountId: string, minutes: number): Promise<void> {
  for (const testMode of [true, false]) await changeRenewalSpread(billing, { accountId, testMode }, minutes);
}

function spreadLine(minutes: number): string {
  return minutes === 0 ? 'renewals are charged when they are due' : `renewals are charged within ${minutes} minutes`;
}

function lineOf(account: Account): string {
  const features = account.features.length > 0 ? account.features.join(', ') : 'no features';
  const substantiation = account.substantiation ?? 'no substantiation';
  return `${account.account_id}  ${account.name}  ${account.organization_id ?? 'no organization'}  ${features}  ${substantiation}`;
}
