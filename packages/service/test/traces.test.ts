import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger, openTracing, readEnvironment, traceWork } from '../src/index.ts';
import { readServiceSettings } from '../src/service-settings.ts';
import { catalogEnvironment, logLines } from './support.ts';

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: object }[];
  status: { code: number };
}
interface OtlpRequest {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: OtlpSpan[] }[];
  }[];
}

const received: { path: string | undefined; body: OtlpRequest }[] = [];
let collector: Server;
let endpoint: string;
let status = 200;

beforeAll(async () => {
  collector = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += String(chunk);
    });
    request.on('end', () => {
      received.push({ path: request.url, body: JSON.parse(text) as OtlpRequest });
      response.writeHead(status).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`;
});
afterAll(() => {
  collector.close();
  collector.closeAllConnections();
});

test('spans reach a collector as OTLP/HTTP JSON, and continue the trace that they are given', async () => {
  const logger = createLogger({ service: 'webhooks', level: 'silent' });
  const tracing = await openTracing({ service: 'webhooks', endpoint, logger });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await traceWork(
    tracing,
    'outer',
    traceparent,
    () => traceWork(tracing, 'inner', undefined, async () => 7),
    'consumer',
  );
  await expect(traceWork(tracing, 'failing', undefined, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await tracing?.stop();

  expect(received.map(({ path }) => path)).toEqual(['/v1/traces']);
  const [resource] = received[0]?.body.resourceSpans ?? [];
  expect(resource?.resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'webhooks' } });
  const spans = resource?.scopeSpans[0]?.spans ?? [];
  const [inner, outer, failing] = spans;
  expect(spans.map(({ name }) => name)).toEqual(['inner', 'outer', 'failing']);
  expect(outer).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16), kind: 5, status: { code: 0 } });
  expect(inner).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: outer?.spanId });
  expect(failing).toMatchObject({ status: { code: 2 } });
  for (const span of spans) {
    expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).toBe(true);
    expect(BigInt(span.startTimeUnixNano) > 1_700_000_000_000_000_000n).toBe(true);
  }
});

test('a statement and a call to the processor are spans of the work that made them, and start no trace [D14.221]', async () => {
  const before = received.length;
  const logger = createLogger({ service: 'checkout', level: 'silent' });
  const tracing = await openTracing({ service: 'checkout', endpoint, logger });
  tracing?.recordCall('of no work', 1, {});
  await traceWork(tracing, 'work', undefined, async () => {
    tracing?.recordCall('sessions.find', 20, { 'db.system.name': 'postgresql' });
  });
  await tracing?.stop();
  const spans = received.slice(before).flatMap(({ body }) => body.resourceSpans[0]?.scopeSpans[0]?.spans ?? []);
  expect(spans.map(({ name }) => name)).toEqual(['sessions.find', 'work']);
  const [call, work] = spans;
  expect(call).toMatchObject({ kind: 3, traceId: work?.traceId, parentSpanId: work?.spanId });
  expect(BigInt(call?.endTimeUnixNano ?? 0) - BigInt(call?.startTimeUnixNano ?? 0)).toBe(20_000_000n);
});

test('the share of traces is a setting, and all of them by default [D14.221]', () => {
  const read = (given: object) =>
    readEnvironment({ ...catalogEnvironment('postgres://a:b@h/d'), ...given }, (env) =>
      readServiceSettings(env, 'catalog'),
    ).traceRatio;
  expect(['0', '0.25', '1'].map((share) => read({ OTEL_TRACES_SAMPLER_ARG: share }))).toEqual([0, 0.25, 1]);
  expect(read({})).toBe(1);
  for (const wrong of ['2', '-1', '25%']) {
    expect(() => read({ OTEL_TRACES_SAMPLER_ARG: wrong })).toThrow(
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
    );
  }
});

test('a ratio of 0 records no trace of its own, and those that callers sample [D14.221]', async () => {
  const before = received.length;
  const logger = createLogger({ service: 'checkout', level: 'silent' });
  const tracing = await openTracing({ service: 'checkout', endpoint, ratio: 0, logger });
  await traceWork(tracing, 'own', undefined, async () => undefined);
  await traceWork(tracing, 'asked for', `00-${'e'.repeat(32)}-${'f'.repeat(16)}-01`, async () => undefined);
  await tracing?.stop();
  const spans = received.slice(before).flatMap(({ body }) => body.resourceSpans[0]?.scopeSpans[0]?.spans ?? []);
  expect(spans.map(({ name }) => name)).toEqual(['asked for']);
});

test('a caller that does not sample is followed', async () => {
  const before = received.length;
  const tracing = await openTracing({
    service: 'webhooks',
    endpoint,
    logger: createLogger({ service: 'x', level: 'silent' }),
  });
  await traceWork(tracing, 'unsampled', `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00`, async () => undefined);
  await tracing?.stop();
  expect(received.length).toBe(before);
});

test('a refusing collector is logged, and nothing else happens', async () => {
  status = 503;
  const log = logLines();
  const logger = createLogger({ service: 'webhooks', destination: log.destination });
  const tracing = await openTracing({ service: 'webhooks', endpoint, logger });
  expect(await traceWork(tracing, 'lost', undefined, async () => 7)).toBe(7);
  await tracing?.stop();
  expect(log.lines()).toContainEqual(expect.objectContaining({ msg: 'Failed to export traces' }));
});

test('without an endpoint there are no traces', async () => {
  const logger = createLogger({ service: 'x', level: 'silent' });
  const tracing = await openTracing({ service: 'x', endpoint: undefined, logger });
  expect(tracing).toBeUndefined();
  expect(await traceWork(tracing, 'work', undefined, async () => 7)).toBe(7);
});
