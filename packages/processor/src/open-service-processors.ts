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
  /** Adds a call to the current trace. */
  recordCall(name: string, durationMs: number, attributes: Readonly<Record<string, string>>): void;
  readonly metrics: {
    counter(name: string, help: string, labels: readonly 'processor'[]): { inc(labels: { processor: string }): void };
    histogram(
      name: string,
      help: string,
      labels: readonly ('call' | 'outcome')[],
    ): { observe(labels: { call: string; outcome: string }, seconds: number): void };
    gaugeTable(
      name: string,
      help: string,
      labels: readonly 'processor'[],
      read: () => Promise<readonly (readonly [{ processor: string }, number])[]>,
    ): void;
  };
  readonly logger: {
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    warn(message: string): void;
  };
}

/** What of a service the processors call. */
export interface ServiceHooks {
  /** Called before each call to a processor; throws where none may be made. */
  readonly beforeCall: () => void;
  /** The request that the current work belongs to. */
  readonly requestId: () => string | undefined;
  /** Called when a circuit breaker closes: what waits for its processor need not wait longer. */
  readonly onRecovered: () => void;
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

/** Opens the processors of a service, with metrics of calls and circuit breakers, and a line in the log when a circuit breaker changes. */
export function openServiceProcessors(
  environment: ProcessorEnvironment,
  { metrics, logger, recordCall }: Observers,
  { beforeCall, requestId, onRecovered }: ServiceHooks,
): Processors {
  const calls = metrics.histogram('processor_seconds', 'Processor calls by call and outcome', ['call', 'outcome']);
  const notConfigured = metrics.counter(
    'processor_not_configured_total',
    'Work postponed because its processor is not configured, by processor',
    ['processor'],
  );
  const breakers = new Map<string, number>();
  metrics.gaugeTable(
    'processor_breaker_open',
    'Whether the circuit breaker of a processor is open, by processor: 1 or 0',
    ['processor'],
    async () => [...breakers].map(([processor, open]) => [{ processor }, open] as const),
  );
  const processors = openProcessors(environment, {
    ...{ beforeCall, requestId },
    onCall({ processor, call, outcome, durationMs }) {
      calls.observe({ call, outcome }, durationMs / 1_000);
      recordCall(`${processor} ${call}`, durationMs, { 'eligo.outcome': outcome });
      if (outcome === missingObject) {
        logger.error(
          { processor, operation: call },
          'Processor does not have an object of ours; the outcome stays unknown',
        );
      }
    },
    onNotConfigured(stored) {
      notConfigured.inc({ processor: stored?.processor ?? 'none' });
      logger.error(
        { processor: stored?.processor, processorAccountId: stored?.account },
        'Money is at a processor that is not configured; its work waits until it is',
      );
    },
    onBreaker({ processor, open }) {
      breakers.set(processor, Number(open));
      logger.warn({ processor }, `Processor circuit breaker ${open ? 'opened' : 'closed'}`);
      if (!open) onRecovered();
    },
  });
  for (const mode of ['test', 'live'] as const) {
    const processor = processors.processorOf(mode);
    if (processor !== undefined) breakers.set(processor, 0);
  }
  if (processors.processorOf('live') === 'sandbox')
    logger.warn('Live mode charges the sandbox processor; no real money moves');
  return processors;
}
