import { type ProcessorEnvironment, readProcessorEnvironment } from '@eligo/processor';
import { type EnvironmentReader, type Keyring, readKeyring } from '@eligo/service';
import { assertBudgets, type ChargeBudgets, defaultBudgets } from './charge-budgets.ts';
import { type PageUrls, readPageUrls } from './page-urls.ts';

/** What checkout reads from its environment, beside what every service does. */
export interface CheckoutSettings {
  readonly budgets: ChargeBudgets;
  readonly processors: ProcessorEnvironment;
  /** Makes the URLs of checkout pages. */
  readonly pages: PageUrls;
  /** Seals what shoppers answer for letters. */
  readonly keyring: Keyring;
}

/**
 * `ELIGO_SANDBOX_URL` and `ELIGO_SANDBOX_KEY` (test mode), `STRIPE_SECRET_KEY` with `STRIPE_ACCOUNTS`, or `ELIGO_LIVE_PROCESSOR` (live mode);
 * `ELIGO_PUBLIC_URL` and `ELIGO_PAGE_KEY`: where shoppers open checkout pages, and what signs their URLs;
 * `ELIGO_CHARGE_CALL_MS` and `ELIGO_CHARGE_LEASE_MS`: how long a request's calls to the processor may take, and how long its claim lasts.
 */
export function readCheckoutSettings(env: EnvironmentReader): CheckoutSettings {
  const budgets: ChargeBudgets = {
    ...defaultBudgets,
    callMs: env.integer('ELIGO_CHARGE_CALL_MS', { default: defaultBudgets.callMs, min: 100, max: 8_000 }),
    leaseMs: env.integer('ELIGO_CHARGE_LEASE_MS', { default: defaultBudgets.leaseMs, min: 200, max: 600_000 }),
    marginMs: env.integer('ELIGO_CHARGE_MARGIN_MS', { default: defaultBudgets.marginMs, min: 50, max: 60_000 }),
  };
  note(env, () => assertBudgets(budgets));
  return { budgets, processors: readProcessorEnvironment(env), pages: readPageUrls(env), keyring: readKeyring(env) };
}

function note(env: EnvironmentReader, check: () => void): void {
  try {
    check();
  } catch (error) {
    env.problem(error instanceof Error ? error.message : 'The charge time budgets are inconsistent');
  }
}
