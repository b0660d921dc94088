import { contextOfTraceparent, currentRequest, newRequestId, traceparentOf, withRequestContext } from '@eligo/rpc';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Tracing } from './tracing.ts';

/** What the work serves: an external request, an event, or nothing. */
export type WorkKind = keyof typeof spanKinds;

const spanKinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, internal: SpanKind.INTERNAL } as const;

/**
 * Runs work that no call asked for (an event, a delivery, a run of a job) in a span of its own, which the calls and events that it makes
 * continue. Without tracing it just runs.
 */
export async function traceWork<Result>(
  tracing: Tracing | undefined,
  name: string,
  traceparent: string | undefined,
  work: () => Promise<Result>,
  kind: WorkKind = 'internal',
): Promise<Result> {
  if (tracing === undefined) return work();
  const parent = traceparent === undefined ? context.active() : contextOfTraceparent(traceparent);
  const span = tracing.tracer.startSpan(name, { kind: spanKinds[kind] }, parent);
  const requestId = currentRequest()?.requestId ?? newRequestId();
  try {
    return await context.with(trace.setSpan(parent, span), () =>
      withRequestContext({ requestId, traceparent: traceparentOf(span) }, work),
    );
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
