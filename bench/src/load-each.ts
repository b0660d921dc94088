import type { LoadGenerator, LoadResult } from './processes/generator.ts';
import type { Worker } from './processes/worker.ts';

/** Each connection sends its own list once. */
export function loadEach(
  { load, port }: { readonly load: Worker<LoadGenerator>; readonly port: number },
  texts: readonly (readonly string[])[],
): Promise<LoadResult> {
  return load.ask('run', { port, connections: texts.length, requests: { kind: 'each', texts } });
}
