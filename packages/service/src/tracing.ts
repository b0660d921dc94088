import type { Tracing, TracingOptions } from './record-traces.ts';

export type { Tracing } from './record-traces.ts';

/** Opens the traces of a component, sent as OTLP/HTTP JSON. Without an endpoint it returns undefined and does not even load the recorder. */
export async function openTracing(
  options: Omit<TracingOptions, 'endpoint'> & { readonly endpoint: string | undefined },
): Promise<Tracing | undefined> {
  const { endpoint } = options;
  if (endpoint === undefined) return undefined;
  const { recordTraces } = await import('./record-traces.ts');
  return recordTraces({ ...options, endpoint });
}
