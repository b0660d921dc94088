import type { ProcessorEnvironment } from '@eligo/processor';
import type { EnvironmentReader } from '@eligo/service';

/** What the refunds service reads from its environment, beside what every service does. */
export interface RefundsSettings {
  readonly processors: ProcessorEnvironment;
}

/** Reads which processors give money back: the sandbox for test mode, and what serves live mode. */
export function readRefundsSettings(env: EnvironmentReader): RefundsSettings {
  return {
    processors: {
      ELIGO_SANDBOX_URL: env.optional('ELIGO_SANDBOX_URL'),
      ELIGO_SANDBOX_KEY: env.optionalSecret('ELIGO_SANDBOX_KEY'),
      STRIPE_SECRET_KEY: env.optionalSecret('STRIPE_SECRET_KEY'),
      STRIPE_ACCOUNTS: env.optional('STRIPE_ACCOUNTS'),
      ELIGO_LIVE_PROCESSOR: env.optional('ELIGO_LIVE_PROCESSOR'),
    },
  };
}
