import { userInfo } from 'node:os';
import {
  type Account,
  type AccountChange,
  createAccount,
  createKey,
  createOrganization,
  isSubstantiation,
  listAccounts,
  substantiations,
  updateAccount,
} from '@eligo/gateway/accounts';
import { type Command, UsageError } from '../command.ts';
import { withAccounts } from '../connect.ts';

/** Accounts and organizations. */
export const accountCommands: readonly Command[] = [
  {
    name: 'accounts create',
    usage: '--name NAME [--feature FEATURE]… [--organization forg_…]',
    summary: 'Creates an account with a test key and a live key. The keys are shown only once.',
    options: {
      name: { type: 'string' },
      feature: { type: 'string', multiple: true },
      organization: { type: 'string' },
    },
    async run(given) {
      const created = await withAccounts(async (database) => {
        const account = await createAccount(database, {
          name: given.needed('name'),
          features: given.list('feature'),
          organizationId: given.text('organization'),
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
      'ACCOUNT [--name NAME] [--feature F]… [--no-feature F]… [--organization forg_…|none] [--substantiation medical_mcc|ninety_percent|iias|none [--by WHO]] [--display-name NAME] [--logo-url URL] [--accent-color COLOR]',
    summary:
      'Updates an account. The change takes effect within seconds. Without a substantiation it cannot charge HSA and FSA cards in live mode. Its checkout pages show display name, logo and accent color (#0a7d5c); none clears one.',
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
    },
    async run(given) {
      const organization = given.text('organization');
      const orNone = (name: string) => (given.text(name) === 'none' ? null : given.text(name));
      const account = await withAccounts((database) =>
        updateAccount(database, given.words[0] ?? '', {
          name: given.text('name'),
          addFeatures: given.list('feature'),
          removeFeatures: given.list('no-feature'),
          organizationId: organization === 'none' ? null : organization,
          substantiation: statementOf(given.text('substantiation'), given.text('by')),
          displayName: orNone('display-name'),
          logoUrl: orNone('logo-url'),
          accentColor: orNone('accent-color'),
        }),
      );
      return { json: { account }, lines: [lineOf(account)] };
    },
  },
  {
    name: 'accounts list',
    usage: '',
    summary: 'Lists all accounts, oldest first.',
    options: {},
    async run() {
      const accounts = await withAccounts((database) => listAccounts(database));
      return { json: { accounts }, lines: [...accounts.map(lineOf), `${accounts.length} accounts`] };
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

// Kept as who said so: the name that is given, or that of the operator's user on this machine.
function statementOf(text: string | undefined, by: string | undefined): AccountChange['substantiation'] {
  if (text === undefined) {
    if (by !== undefined) throw new UsageError('--by goes with --substantiation');
    return undefined;
  }
  if (text !== 'none' && !isSubstantiation(text)) {
    throw new UsageError(`--substantiation must be ${substantiations.join(', ')} or none`);
  }
  return { substantiation: text === 'none' ? null : text, setBy: by ?? userInfo().username };
}

function lineOf(account: Account): string {
  const features = account.features.length > 0 ? account.features.join(', ') : 'no features';
  const substantiation = account.substantiation ?? 'no substantiation';
  return `${account.account_id}  ${account.name}  ${account.organization_id ?? 'no organization'}  ${features}  ${substantiation}`;
}
