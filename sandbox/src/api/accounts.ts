import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { shape } from '../shapes/shape.ts';
import type { AccountRecord } from '../store/record-types.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const accountRoutes: Route[] = [
  { method: 'POST', path: '/v1/accounts', call: 'accounts.create', prepare: createAccount },
  { method: 'GET', path: '/v1/accounts', call: 'accounts.list', prepare: listAccounts },
  { method: 'GET', path: '/v1/accounts/:id', call: 'accounts.retrieve', prepare: retrieveAccount },
];

function createAccount(parameters: Parameters) {
  const type = parameters.oneOf('type', ['custom', 'express', 'standard'] as const) ?? 'none';
  const country = parameters.text('country') ?? 'US';
  const email = parameters.clearableText('email') ?? null;
  const metadata = mergedMetadata({}, parameters.metadata());
  const businessProfile = parameters.raw('business_profile') ?? null;
  for (const ignored of [
    'capabilities',
    'controller',
    'business_type',
    'company',
    'individual',
    'settings',
    'tos_acceptance',
  ]) {
    parameters.raw(ignored);
  }
  parameters.finish();
  return (call: Call) => {
    const account: AccountRecord = {
      id: call.newId('acct'),
      account: call.account,
      created: call.at,
      type,
      country,
      email,
      businessProfile,
      metadata,
    };
    call.records.insert('account', account);
    return shape('account', account);
  };
}

function listAccounts(parameters: Parameters) {
  const query = pageQuery(parameters);
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/accounts', call.records.page('account', call.account, query), (record) => shape('account', record));
}

function retrieveAccount(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('account', call.records.need('account', call.account, call.id));
}
