/** Where an account's live calls go at Stripe: to a connected account (`Stripe-Account`), or to the key's own, without that header. */
export interface StripeAccount {
  readonly connected: string | undefined;
}

const own = 'self';

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
 * Reads STRIPE_ACCOUNTS, JSON: Eligo's account id -> `acct_…`, or `self`. Throws when two accounts would share one of Stripe's: they would share
 * its balance, and what one refunds or disputes the other would pay for.
 */
export function readStripeAccounts(text: string | undefined): Map<string, StripeAccount> {
  const accounts = new Map<string, StripeAccount>();
  const ownerOf = new Map<string, string>();
  for (const [account, given] of Object.entries(parse(text))) {
    if (typeof given !== 'string' || !(given === own || /^acct_\w+$/.test(given))) {
      throw new Error(`STRIPE_ACCOUNTS maps account ids to acct_… ids or to "${own}"; that of ${account} is neither`);
    }
    const owner = ownerOf.get(given);
    if (owner !== undefined) {
      const whose = given === own ? `the key's own Stripe account ("${own}")` : given;
      throw new Error(
        `STRIPE_ACCOUNTS maps both ${owner} and ${account} to ${whose}: each account needs one of its own`,
      );
    }
    ownerOf.set(given, account);
    accounts.set(account, { connected: given === own ? undefined : given });
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
