import type { Stripe, StripeConstructor } from '@stripe/stripe-js';
import { stripeScriptUrl } from './document.ts';
import { loadWithinMs } from './fields-state.tsx';

/** The script did not come, which a shopper's connection may explain. Everything else that fails is Stripe.js refusing what the page asks. */
export class StripeNotLoaded extends Error {}

const loaded = new Map<string, Promise<Stripe>>();

/** Stripe for an account, once on the page. Rejects where the script does not load; the next call tries again. */
export function loadStripe(publishableKey: string, account: string | null): Promise<Stripe> {
  const name = `${publishableKey} ${account}`;
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const loading = loadScript().then((make) => make(publishableKey, account === null ? {} : { stripeAccount: account }));
  loaded.set(name, loading);
  loading.catch(() => loaded.delete(name));
  return loading;
}

/** The same for who cannot wait: a script that hangs says nothing at all. */
export function loadStripeInTime(publishableKey: string, account: string | null): Promise<Stripe> {
  const isLate = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new StripeNotLoaded('Stripe.js did not load in time')), loadWithinMs);
  });
  return Promise.race([loadStripe(publishableKey, account), isLate]);
}

function loadScript(): Promise<StripeConstructor> {
  const made = () => (globalThis as { Stripe?: StripeConstructor }).Stripe;
  const present = made();
  if (present !== undefined) return Promise.resolve(present);
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = stripeScriptUrl;
    script.addEventListener('load', () => {
      const make = made();
      if (make === undefined) reject(new StripeNotLoaded('Stripe.js is not there'));
      else resolve(make);
    });
    script.addEventListener('error', () => {
      script.remove();
      reject(new StripeNotLoaded('Stripe.js did not load'));
    });
    document.head.append(script);
  });
}
