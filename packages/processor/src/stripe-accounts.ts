import { ownAccount } from '@eligo/values';

/** Refuses a key that cannot charge: a test key would take live payments for nothing. */
export function checkLiveKey(secretKey: string): void {
  if (/^(sk|rk)_(org_)?test_/.test(secretKey)) {
    throw new Error(
      'STRIPE_SECRET_KEY is a test key; live mode needs a key that begins with sk_live_ or rk_live_. To try live mode without Stripe, set ' +
        'ELIGO_LIVE_PROCESSOR=sandbox and leave STRIPE_SECRET_KEY unset',
    );
  }
  if (/^pk_/.test(secretKey)) throw new Error('STRIPE_SECRET_KEY is a publishable key; set a secret or restricted key');
}

/**
 * Reads STRIPE_ACCOUNTS, JSON: Eligo's account id -> a connected account (`acct_…`), or `self`, the key's own. Throws when two accounts would share one of Stripe's: they would share
 * its balance, and what one refunds or disputes the other would pay for.
 */
export function readStripeAccounts(text: string | undefined): Map<string, string> {
  const accounts = new Map<string, string>();
  const ownerOf = new Map<string, string>();
  for (const [account, given] of Object.entries(parse(text))) {
    if (typeof given !== 'string' || !(given === ownAccount || /^acct_\w+$/.test(given))) {
      throw new Error(
        `STRIPE_ACCOUNTS maps account ids to acct_… ids or to "${ownAccount}"; that of ${account} is neither`,
      );
    }
    const owner = ownerOf.get(given);
    if (owner !== undefined) {
      const whose = given === ownAccount ? `the key's own Stripe account ("${ownAccount}")` : given;
      throw new Error(
        `STRIPE_ACCOUNTS maps both ${owner} and ${account} to ${whose}: each account needs one of its own`,
      );
    }
    ownerOf.set(given, account);
    accounts.set(account, given);
  }
  return accounts;
}

function parse(text: string | undefined): object {
  if (!text) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new Error('STRIPE_ACCOUNTS must be a JSON object, such as {"facct_…":"acct_…"}');
}
