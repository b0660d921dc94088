import type { Peers } from '../peers.ts';
import { changeQueue } from './change-queue.ts';
import type { Telling } from './tell-changes.ts';

type Billing<Call extends keyof Peers['billing']> = { readonly billing: Pick<Peers['billing'], Call> };
type Checkout<Call extends keyof Peers['checkout']> = { readonly checkout: Pick<Peers['checkout'], Call> };

/** What each account can do, which billing needs to judge what a renewal is made of. */
export const toldFeatures: Telling<string[], Billing<'recordAccountFeatures'>> = {
  job: 'tell_features',
  queue: changeQueue({ table: 'features_to_tell', column: 'features', ofAccount: 'features' }),
  testModes: [false, true],
  tell: ({ billing }, { value, version }, call) => billing.recordAccountFeatures({ features: value, version }, call),
};

/** What shoppers call each account's shop, which billing's mails about renewals name. */
export const toldShopNames: Telling<string, Billing<'recordShopName'>> = {
  job: 'tell_shop_names',
  queue: changeQueue({ table: 'shop_names_to_tell', column: 'name', ofAccount: 'coalesce(display_name, name)' }),
  testModes: [false],
  tell: ({ billing }, { value, version }, call) => billing.recordShopName({ name: value, version }, call),
};

/** Each account's substantiation, which checkout needs to charge renewals. */
export const toldStatements: Telling<string | null, Checkout<'recordHealthCardStatement'>> = {
  job: 'tell_statements',
  queue: changeQueue({ table: 'statements_to_tell', column: 'substantiation', ofAccount: 'substantiation' }),
  testModes: [false],
  tell: ({ checkout }, { value, version }, call) =>
    checkout.recordHealthCardStatement({ substantiation: value ?? '', version }, call),
};

/** The time zone of each account, whose days billing's receipts and mails name. */
export const toldTimeZones: Telling<string, Billing<'recordTimeZone'>> = {
  job: 'tell_time_zones',
  queue: changeQueue({ table: 'time_zones_to_tell', column: 'time_zone', ofAccount: 'time_zone' }),
  testModes: [false, true],
  tell: ({ billing }, { value, version }, call) => billing.recordTimeZone({ timeZone: value, version }, call),
};

/** All that is told of accounts. */
export const tellings: readonly Telling<unknown, Pick<Peers, 'billing' | 'checkout'>>[] = [
  toldFeatures,
  toldShopNames,
  toldStatements,
  toldTimeZones,
];
