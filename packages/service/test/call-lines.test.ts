import { Code } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { client, implement, inProcessTransport, rpcServer } from '@eligo/rpc';
import { expect, test } from 'vitest';
import { createLogger, createMetrics } from '../src/index.ts';
import { identityOf } from './support.ts';

/** The lines of a catalog that the gateway calls three times: it answers one call, refuses one, and does not admit one. */
async function linesAt(level: string): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const logger = createLogger({ service: 'catalog', level, destination: { write: (line) => lines.push(line) } });
  const server = rpcServer({
    identity: identityOf('catalog'),
    observer: createMetrics('catalog').rpcObserver(logger),
    handlers: [
      implement(CatalogService, {
        getPrice({ id }) {
          if (id === 'missing') throw new Failure('price_not_found');
          return { priceId: id };
        },
      }),
    ],
  });
  const gateway = identityOf('gateway');
  const catalog = client(CatalogService, inProcessTransport(server, { encode: true }), gateway);
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }), requestId: 'freq_1' };
  await catalog.getPrice({ id: 'fprice_1' }, call);
  await expect(catalog.getPrice({ id: 'missing' }, call)).rejects.toMatchObject({ code: 'price_not_found' });
  await expect(catalog.getPrice({ id: 'fprice_1' }, {})).rejects.toMatchObject({ code: Code.Unauthenticated });
  return lines.map((line) => JSON.parse(line));
}

test('at debug each call is a line with the names of the gateway’s line, also one that was refused, and at info none is [D14.360]', async () => {
  const called = { method: 'GetPrice', from: 'gateway', requestId: 'freq_1', accountId: 'facct_1', testMode: true };
  const line = { level: 'debug', service: 'catalog', msg: 'Call completed', durationMs: expect.any(Number) };
  const written = { time: expect.any(String), pid: process.pid };
  expect(await linesAt('debug')).toEqual([
    { ...written, ...line, ...called },
    { ...written, ...line, ...called, code: 'price_not_found' },
    { ...written, ...line, method: 'GetPrice', from: '', code: 'Unauthenticated' },
  ]);
  expect(await linesAt('info')).toEqual([]);
});

test('a line that is not written costs a question for its level, and nothing of the call is read for it [D14.360]', () => {
  const logger = createLogger({ service: 'catalog', level: 'info', destination: { write: () => undefined } });
  const observer = createMetrics('catalog').rpcObserver(logger);
  const read: string[] = [];
  const finished = { from: 'gateway', requestId: 'freq_1', scope: undefined, code: undefined, refusal: undefined };
  const call = new Proxy(
    { ...finished, durationMs: 1 },
    {
      get(target, name) {
        read.push(String(name));
        return Reflect.get(target, name);
      },
    },
  );
  observer.finished?.(CatalogService.method.getPrice, call);
  // For the metric.
  expect(read.sort()).toEqual(['code', 'durationMs', 'from']);
});
