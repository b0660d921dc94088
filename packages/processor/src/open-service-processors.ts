import { missingObject } from './call.ts';
import { openProcessors, type ProcessorEnvironment, type Processors } from './open-processors.ts';

/** Where a service reads its variables. */
interface VariableReader {
  optional(name: string): string | undefined;
  /** One that is not shown when it is refused. */
  optionalSecret(name: string): string | undefined;
}

/** What a service observes its calls with. */
interface Observers {
  readonly metrics: {
    histogram(
      name: string,
      help: string,
      labels: readonly ('call' | 'outcome')[],
    ): { observe(labels: { call: string; outcome: string }, seconds: number): void };
  };
  readonly logger: {
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    warn(message: string): void;
  };
}

/** The variables that name the processors: the sandbox for test mode, and Stripe or the sandbox for live mode. */
export function readProcessorEnvironment(env: VariableReader): ProcessorEnvironment {
  return {
    ELIGO_SANDBOX_URL: env.optional('ELIGO_SANDBOX_URL'),
    ELIGO_SANDBOX_KEY: env.optionalSecret('ELIGO_SANDBOX_KEY'),
    STRIPE_SECRET_KEY: env.optionalSecret('STRIPE_SECRET_KEY'),
    STRIPE_ACCOUNTS: env.optional('STRIPE_ACCOUNTS'),
    ELIGO_LIVE_PROCESSOR: env.optional('ELIGO_LIVE_PROCESSOR'),
  };
}

/** Opens the processors of a service, with a metric of each call and a line in the log when the circuit breaker changes. */
export function openServiceProcessors(
  environment: ProcessorEnvironment,
  { metrics, logger }: Observers,
  beforeCall: () => void,
): Processors {
  const calls = metrics.histogram('processor_seconds', 'Processor calls by call and outcome', ['call', 'outcome']);
  const processors = openProcessors(environment, {
    beforeCall,
    onCall({ processor, call, outcome, durationMs }) {
      calls.observe({ call, outcome }, durationMs / 1_000);
      if (outcome === missingObject) {
        logger.error(
          { processor, operation: call },
          'Processor does not have an object of ours; the outcome stays unknown',
        );
      }
    },
    onBreaker: ({ processor, open }) =>
      logger.warn({ processor }, `Processor circuit breaker ${open ? 'opened' : 'closed'}`),
  });
  if (processors.processorOf('live') === 'sandbox')
    logger.warn('Live mode charges the sandbox processor; no real money moves');
  return processors;
}
