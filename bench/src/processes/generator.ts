// The load: keep-alive connections, each in a closed loop or to a schedule.
import { performance } from 'node:perf_hooks';
import { type Answer, Connection } from './connection.ts';
import { serve } from './worker.ts';

/** What to send and how long. */
export interface Load {
  readonly port: number;
  readonly connections: number;
  /**
   * `shared`: any connection sends any of them, over and over, for `seconds`; `each`: every connection has a list of its own and sends it
   * once, to its end.
   */
  readonly requests:
    | { readonly kind: 'shared'; readonly texts: readonly string[]; readonly seconds: number }
    | { readonly kind: 'each'; readonly texts: readonly (readonly string[])[] };
  /** Requests per second, spread evenly; without it each connection sends the next as soon as it is answered. */
  readonly perSecond?: number;
}

/** What was measured. Latencies under a schedule count from when the request was due, if it was sent no earlier. */
export interface LoadResult {
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export type LoadGenerator = { run(load: Load): Promise<LoadResult>; bodies(load: Load): Promise<string[]> };

const methods: LoadGenerator = {
  run: async (load) => (await send(load, false)).result,
  // In the order of the connections' lists.
  bodies: async (load) => (await send(load, true)).bodies,
};

if (process.send !== undefined) serve(methods);

async function send(load: Load, keepBodies: boolean) {
  const opened = await Promise.all(Array.from({ length: load.connections }, () => Connection.open(load.port)));
  const latencies: number[] = [];
  const bodies: string[][] = opened.map(() => []);
  const startedAt = performance.now();
  const next = takerOf(load, startedAt);
  await Promise.all(
    opened.map(async (connection, index) => {
      for (let due = next(index); due !== undefined; due = next(index)) {
        if (due.at !== undefined) await until(due.at);
        // What is sent late has waited since it was due.
        const waitedFrom = Math.min(due.at ?? Number.POSITIVE_INFINITY, performance.now());
        const answer = await connection.send(due.text);
        latencies.push(performance.now() - waitedFrom);
        refuseFailed(answer, due.text);
        if (keepBodies) bodies[index]?.push(answer.body());
      }
    }),
  );
  const elapsedMs = performance.now() - startedAt;
  for (const connection of opened) connection.close();
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  const count = latencies.length;
  const result = { count, perSecond: (count * 1_000) / elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) };
  return { result, bodies: bodies.flat() };
}

interface Due {
  readonly text: string;
  readonly at?: number;
}

function takerOf(load: Load, startedAt: number): (connection: number) => Due | undefined {
  const { requests, perSecond } = load;
  if (requests.kind === 'each') {
    const taken = requests.texts.map(() => 0);
    return (connection) => {
      const at = taken[connection] ?? 0;
      taken[connection] = at + 1;
      const text = requests.texts[connection]?.[at];
      return text === undefined ? undefined : { text };
    };
  }
  const { texts, seconds } = requests;
  const endsAt = startedAt + seconds * 1_000;
  let taken = 0;
  return () => {
    const at = perSecond === undefined ? undefined : startedAt + (taken * 1_000) / perSecond;
    if ((at ?? performance.now()) >= endsAt) return undefined;
    const text = texts[taken % texts.length] ?? '';
    taken += 1;
    return at === undefined ? { text } : { text, at };
  };
}

function until(at: number): Promise<void> | undefined {
  const waitMs = at - performance.now();
  return waitMs < 0.5 ? undefined : new Promise((resolve) => setTimeout(resolve, waitMs));
}

function refuseFailed(answer: Answer, request: string): void {
  if (answer.status >= 200 && answer.status < 300) return;
  const line = request.slice(0, request.indexOf('\r\n'));
  throw new Error(`${line}: ${answer.status} ${answer.body()}`);
}
