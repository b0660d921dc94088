import {
  type Account,
  createAccount,
  createKey,
  createOrganization,
  listAccounts,
  updateAccount,
} from '@eligo/gateway/accounts';
import type { Command } from '../command.ts';
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
    usage: 'ACCOUNT [--name NAME] [--feature F]… [--no-feature F]… [--organization forg_…|none]',
    summary: 'Updates an account. The change takes effect within seconds.',
    words: ['ACCOUNT'],
    options: {
      name: { type: 'string' },
      feature: { type: 'string', multiple: true },
      'no-feature': { type: 'string', multiple: true },
      organization: { type: 'string' },
    },
    async run(given) {
      const organization = given.text('organization');
      const account = await withAccounts((database) =>
        updateAccount(database, given.words[0] ?? '', {
          name: given.text('name'),
          addFeatures: given.list('feature'),
          removeFeatures: given.list('no-feature'),
          organizationId: organization === 'none' ? null : organization,
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

function lineOf(account: Account): string {
  const features = account.features.length > 0 ? account.features.join(', ') : 'no features';
  return `${account.account_id}  ${account.name}  ${account.organization_id ?? 'no organization'}  ${features}`;
}
