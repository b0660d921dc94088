import type { Logger, Metrics } from '@eligo/service';
import type { Observer } from './app.ts';

/** Counts every request by route and status, and logs unexpected errors. Never logs request contents. */
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
    answered({ routeId, requestId }, status, durationMs) {
      lineOf(routeId, status).observe(durationMs / 1_000);
      if (logger.isLevelEnabled('debug'))
        logger.debug({ requestId, route: routeId, status, durationMs }, 'Request completed');
    },
    unexpected(error, { routeId, requestId }) {
      unexpected.inc({ route: routeId });
      logger.error({ err: error, requestId, route: routeId }, 'Request failed with an unexpected error');
    },
  };
}
