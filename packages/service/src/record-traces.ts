import { type Attributes, context, SpanKind, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from './logger.ts';
import { OtlpJsonExporter } from './otlp-exporter.ts';

/** The traces of one component. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Adds a call that has just ended (a statement, a call to the processor) to the trace of the current work, if that is recorded. */
  recordCall(name: string, durationMs: number, attributes: Attributes): void;
  /** Sends what is left. */
  stop(): Promise<void>;
}

/** How the traces of a component are recorded. */
export interface TracingOptions {
  readonly service: string;
  /** OTEL_EXPORTER_OTLP_ENDPOINT: the collector's base URL. */
  readonly endpoint: string;
  /** The share of new traces that is recorded; a caller's decision is followed. 1 unless given. */
  readonly ratio?: number;
  readonly logger: Logger;
}

/** Records the traces of a component and sends them to its collector. */
export function recordTraces(options: TracingOptions): Tracing {
  const { service, endpoint, ratio = 1, logger } = options;
  followAsyncWork();
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const exporter = new OtlpJsonExporter(url, (reason) => logger.warn({ reason }, 'Failed to export traces'));
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.namespace': 'eligo' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 4_096, scheduledDelayMillis: 1_000 })],
  });
  const tracer = provider.getTracer('eligo');
  return {
    tracer,
    recordCall(name, durationMs, attributes) {
      const current = trace.getSpanContext(context.active());
      // Work that nothing traces, such as a job that looks for due rows, starts no trace of its own.
      if (current === undefined || (current.traceFlags & TraceFlags.SAMPLED) === 0) return;
      const endMs = Date.now();
      const startTime = new Date(endMs - durationMs);
      tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes, startTime }).end(endMs);
    },
    async stop() {
      try {
        await provider.shutdown();
      } catch {
        logger.warn('Failed to export the last traces before shutdown');
      }
    },
  };
}

let following = false;

// Once per process, whichever component is first to trace.
function followAsyncWork(): void {
  if (following) return;
  following = true;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}
