import type { Logger, Metrics } from '@eligo/service';
import type { Observer } from './app.ts';

/** They ask every few seconds. */
const probes = new Set(['pages.healthz', 'pages.readyz']);

/** Counts and logs every request, and logs unexpected errors. Never logs request contents. */
export function openObserver(metrics: Metrics, logger: Logger): Observer {
  const requests = metrics.histogram('http_request_seconds', 'HTTP requests by route and status', ['route', 'status']);
  const unexpected = metrics.counter(
    'http_unexpected_total',
    'HTTP requests that failed with an unexpected error, by route',
    ['route'],
  );
  // Finding a line of the histogram by its labels costs more than adding to it.
  const lines = new Map<string, ReturnType<typeof requests.labels>>();
  const lineOf = (route: string, status: number) => {
    const name = `${route} ${status}`;
    let line = lines.get(name);
    if (line === undefined) {
      line = requests.labels({ route, status });
      lines.set(name, line);
    }
    return line;
  };
  return {
    answered(exchange, status, durationMs) {
      const { routeId, requestId, of, code, recordId } = exchange;
      lineOf(routeId, status).observe(durationMs / 1_000);
      const level = probes.has(routeId) && status === 200 ? 'debug' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      logger[level](
        {
          requestId,
          ...(of === undefined ? {} : { accountId: of.accountId, testMode: of.testMode, keyId: of.keyId }),
          ...{ route: routeId, status, code, durationMs: Math.round(durationMs * 10) / 10, recordId },
        },
        'Request completed',
      );
    },
    unavailable(failure, { routeId, requestId }) {
      logger.warn({ err: failure, requestId, route: routeId }, 'Request refused because a dependency is unavailable');
    },
    unexpected(error, { routeId, requestId }) {
      unexpected.inc({ route: routeId });
      logger.error({ err: error, requestId, route: routeId }, 'Request failed with an unexpected error');
    },
  };
}
