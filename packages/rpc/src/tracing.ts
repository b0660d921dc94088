import type { DescMethod } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';

export type { Tracer } from '@opentelemetry/api';

/** An open span, with the context that work done under it runs in. */
export interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
  /** W3C trace context, for calls made under the span. */
  readonly traceparent: string;
}

/** Starts the span of a call, as its client or as its server. */
export function startCallSpan(
  tracer: Tracer,
  kind: 'client' | 'server',
  method: DescMethod,
  traceparent: string | undefined,
): OpenSpan {
  const parent = parentOf(kind, traceparent);
  const span = tracer.startSpan(
    `${method.parent.typeName}/${method.name}`,
    {
      kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.SERVER,
      attributes: { 'rpc.system': 'connect_rpc', 'rpc.service': method.parent.typeName, 'rpc.method': method.name },
    },
    parent,
  );
  return { span, context: trace.setSpan(parent, span), traceparent: traceparentOf(span) };
}

// The span that a caller works under is nearer than the trace that it was asked under; a server has nothing but what it was sent.
function parentOf(kind: 'client' | 'server', traceparent: string | undefined): Context {
  if (kind === 'client' && trace.getSpanContext(context.active()) !== undefined) return context.active();
  return traceparent === undefined ? ROOT_CONTEXT : contextOfTraceparent(traceparent);
}

/** Ends the span of a call; `code` is undefined when the call was answered. */
export function endCallSpan({ span }: OpenSpan, code: Code | undefined): void {
  if (code !== undefined) {
    span.setAttribute('rpc.connect_rpc.error_code', Code[code]);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** Runs `work` with the span as the parent of what it starts. */
export function underSpan<Result>(open: OpenSpan, work: () => Result): Result {
  return context.with(open.context, work);
}

/** The W3C `traceparent` of a span. */
export function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

const traceparentSyntax = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The trace context that a `traceparent` names; a malformed one starts a new trace. */
export function contextOfTraceparent(traceparent: string): Context {
  const [, traceId, spanId, flags] = traceparentSyntax.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, spanContext);
}
