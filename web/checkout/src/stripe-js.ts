import { stripeScriptUrl } from './document.ts';
import { loadWithinMs } from './fields-state.tsx';

// What the page uses of Stripe.js, under Stripe's names. The script comes from Stripe and is never bundled.

export interface StripeError {
  readonly type: string;
  readonly code?: string;
}

export interface PaymentElement {
  mount(place: HTMLElement): void;
  update(options: { readonly readOnly: boolean }): void;
  on(event: 'ready' | 'loaderror', handler: () => void): void;
  on(event: 'change', handler: (change: { readonly empty: boolean }) => void): void;
  destroy(): void;
}

export interface StripeElements {
  create(type: 'payment', options: object): PaymentElement;
  submit(): Promise<{ readonly error?: StripeError }>;
  update(options: { readonly amount: number } | { readonly locale: string }): void;
}

export interface Stripe {
  elements(options: object): StripeElements;
  createConfirmationToken(options: {
    readonly elements: StripeElements;
    readonly params: object;
  }): Promise<{ readonly error?: StripeError; readonly confirmationToken?: { readonly id: string } }>;
  /** Resolves once the bank's window is closed, however the shopper answered. */
  handleNextAction(options: { readonly clientSecret: string }): Promise<{ readonly error?: StripeError }>;
}

type MakeStripe = (publishableKey: string, options: object) => Stripe;

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
    setTimeout(() => reject(new Error('Stripe.js did not load in time')), loadWithinMs);
  });
  return Promise.race([loadStripe(publishableKey, account), isLate]);
}

function loadScript(): Promise<MakeStripe> {
  const made = () => (globalThis as { Stripe?: MakeStripe }).Stripe;
  const present = made();
  if (present !== undefined) return Promise.resolve(present);
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = stripeScriptUrl;
    script.addEventListener('load', () => {
      const make = made();
      if (make === undefined) reject(new Error('Stripe.js is not there'));
      else resolve(make);
    });
    script.addEventListener('error', () => {
      script.remove();
      reject(new Error('Stripe.js did not load'));
    });
    document.head.append(script);
  });
}
