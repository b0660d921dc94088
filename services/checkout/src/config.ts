import { type ProcessorEnvironment, readProcessorEnvironment } from '@eligo/processor';
import type { EnvironmentReader } from '@eligo/service';
import { assertBudgets, type ChargeBudgets, defaultBudgets } from './charging.ts';

/** What checkout reads from its environment, beside what every service does. */
export interface CheckoutSettings {
  readonly budgets: ChargeBudgets;
  readonly processors: ProcessorEnvironment;
}

/**
 * `ELIGO_SANDBOX_URL` and `ELIGO_SANDBOX_KEY` (test mode), `STRIPE_SECRET_KEY` with `STRIPE_ACCOUNTS`, or `ELIGO_LIVE_PROCESSOR` (live mode);
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
  return { budgets, processors: readProcessorEnvironment(env) };
}

function note(env: EnvironmentReader, check: () => void): void {
  try {
    check();
  } catch (error) {
    env.problem(error instanceof Error ? error.message : 'The charge time budgets are inconsistent');
  }
}
