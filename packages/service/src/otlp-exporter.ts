import type { Attributes, AttributeValue, HrTime } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

const sendTimeoutMs = 5_000;

/** Sends spans as OTLP/HTTP JSON, the form that every collector takes, with nothing but fetch. */
export class OtlpJsonExporter implements SpanExporter {
  readonly #url: string;
  readonly #failed: (reason: string) => void;
  readonly #sending = new Set<Promise<void>>();

  constructor(url: string, failed: (reason: string) => void) {
    this.#url = url;
    this.#failed = failed;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const sending = this.#send(spans).then(
      () => done({ code: ExportResultCode.SUCCESS }),
      (error: unknown) => {
        this.#failed(error instanceof Error ? error.name : 'unknown');
        done({ code: ExportResultCode.FAILED });
      },
    );
    this.#sending.add(sending);
    void sending.finally(() => this.#sending.delete(sending));
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#sending);
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
  }

  async #send(spans: readonly ReadableSpan[]): Promise<void> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(otlpRequest(spans)),
      signal: AbortSignal.timeout(sendTimeoutMs),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the collector returned ${response.status}`);
  }
}

/** Spans as an OTLP ExportTraceServiceRequest in its JSON form (opentelemetry-proto, trace/v1): ids in hex, times in decimal text. */
export function otlpRequest(spans: readonly ReadableSpan[]): object {
  const byResource = Map.groupBy(spans, ({ resource }) => resource);
  return {
    resourceSpans: [...byResource].map(([resource, ofResource]) => ({
      resource: { attributes: attributesOf(resource.attributes) },
      scopeSpans: [{ scope: { name: 'eligo' }, spans: ofResource.map(otlpSpan) }],
    })),
  };
}

function otlpSpan(span: ReadableSpan): object {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceId,
    spanId,
    ...(span.parentSpanContext === undefined ? {} : { parentSpanId: span.parentSpanContext.spanId }),
    flags: traceFlags,
    name: span.name,
    // OTLP counts kinds from 1; 0 there is "unspecified".
    kind: span.kind + 1,
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: nanoseconds(span.endTime),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ time, name, attributes = {} }) => ({
      timeUnixNano: nanoseconds(time),
      name,
      attributes: attributesOf(attributes),
    })),
    status: { code: span.status.code },
  };
}

function nanoseconds([seconds, nanos]: HrTime): string {
  return (BigInt(seconds) * 1_000_000_000n + BigInt(nanos)).toString();
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: AttributeValue): object {
  if (Array.isArray(value)) {
    return { arrayValue: { values: value.flatMap((entry) => (entry == null ? [] : [anyValue(entry)])) } };
  }
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
