/**
 * The calls that a process has answered since it started, by its page of metrics: requests of partners, and calls of other components. What asks how it is
 * does not count.
 */
export async function answeredCalls(admin: string): Promise<number> {
  const page = await (await fetch(new URL('/metrics', admin))).text();
  const lines = page.matchAll(/^eligo_(?:http_request|rpc_server)_seconds_count\{([^}]*)\} (\d+)$/gm);
  return [...lines].reduce((sum, [, labels = '', count]) => (isAnswered(labels) ? sum + Number(count) : sum), 0);
}

function isAnswered(labels: string): boolean {
  const { method, route, code, status } = Object.fromEntries(
    [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
  if (code !== 'ok' && !status?.startsWith('2')) return false;
  return !probes.has(method ?? '') && !route?.startsWith('pages.');
}

/** What the gateway's readiness asks of services: it reads a list of each. No sale reads them. */
const probes = new Set(['Check', 'ListShippingRates', 'ListCharges', 'ListInvoices', 'ListRefunds', 'ListEndpoints']);
