import { type ProcessorEnvironment, readProcessorEnvironment } from '@eligo/processor';
import type { EnvironmentReader } from '@eligo/service';
import { assertBudgets, type Budgets, defaultBudgets } from './budgets.ts';

/** What the refunds service reads from its environment, beside what every service does. */
export interface RefundsSettings {
  readonly processors: ProcessorEnvironment;
  readonly budgets: Budgets;
}

/**
 * Reads which processors give money back: the sandbox for test mode, and what serves live mode. `ELIGO_REFUND_CALL_MS`, `ELIGO_REFUND_MARGIN_MS`
 * and `ELIGO_REFUND_LEASE_MS`: how long a call may take, what is kept after it to record its outcome, and how long a claim lasts.
 */
export function readRefundsSettings(env: EnvironmentReader): RefundsSettings {
  return {
    processors: readProcessorEnvironment(env),
    budgets: readBudgets(env),
  };
}

function readBudgets(env: EnvironmentReader): Budgets {
  const { processorMs, checkoutMs, marginMs, leaseMs } = defaultBudgets;
  const callMs = env.integer('ELIGO_REFUND_CALL_MS', { default: processorMs, min: 100, max: 8_000 });
  const budgets: Budgets = {
    processorMs: callMs,
    checkoutMs: Math.min(checkoutMs, callMs),
    marginMs: env.integer('ELIGO_REFUND_MARGIN_MS', { default: marginMs, min: 50, max: 60_000 }),
    leaseMs: env.integer('ELIGO_REFUND_LEASE_MS', { default: leaseMs, min: 200, max: 600_000 }),
  };
  try {
    assertBudgets(budgets);
  } catch (error) {
    env.problem(error instanceof Error ? error.message : 'The refund time budgets are inconsistent');
  }
  return budgets;
}
