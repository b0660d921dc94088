import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, currentRequest } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { byGateway, gateway, identityOf, serveProbe, topologies } from './served-probe.ts';

const exporter = new InMemorySpanExporter();
const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('test');

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

describe.each(topologies)('%s: traces', (topology) => {
  test('a call on behalf of a call is one trace of four spans, each the child of the one before', async () => {
    exporter.reset();
    const middle = identityOf('probe');
    const inner = await serveProbe(
      topology,
      { echo: () => ({ text: currentRequest()?.traceparent ?? '' }) },
      { tracer },
    );
    const toInner = client(ProbeService, inner.transport, middle, { tracer });
    const outer = await serveProbe(
      topology,
      { echo: (request, call) => toInner.echo(request, call) },
      { tracer, identity: middle },
    );
    const probe = client(ProbeService, outer.transport, gateway, { tracer });
    const { text } = await probe.echo({}, byGateway());

    const spans = exporter.getFinishedSpans();
    const traceIds = new Set(spans.map((span) => span.spanContext().traceId));
    expect(spans).toHaveLength(4);
    expect(traceIds.size).toBe(1);
    const ids = spans.map((span) => span.spanContext().spanId);
    // They end from the inside out.
    expect(spans.map((span) => span.parentSpanContext?.spanId)).toEqual([ids[1], ids[2], ids[3], undefined]);
    expect(text).toBe(`00-${[...traceIds][0]}-${ids[0]}-01`);
    await inner.close();
    await outer.close();
  });

  test('a call under a span continues that span, not the trace that the work was asked under', async () => {
    exporter.reset();
    const { transport, close } = await serveProbe(topology, { echo: () => ({}) });
    const probe = client(ProbeService, transport, gateway, { tracer });
    const own = tracer.startSpan('own work');
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    await context.with(trace.setSpan(context.active(), own), () => probe.echo({}, { ...byGateway(), traceparent }));
    own.end();
    const [call, work] = exporter.getFinishedSpans();
    expect(call?.parentSpanContext?.spanId).toBe(work?.spanContext().spanId);
    await close();
  });

  test('without a tracer the trace of the caller travels on unchanged', async () => {
    const { probe, close } = await serveProbe(topology, { echo: (_, call) => ({ text: call.traceparent ?? '' }) });
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`;
    expect((await probe.echo({}, { ...byGateway(), traceparent })).text).toBe(traceparent);
    await close();
  });
});
