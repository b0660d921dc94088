import { type FuzzRequest, fuzzRequests } from './fuzz-requests.ts';
import { Findings, latestAnswerMs, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { isRefusal, send } from './send.ts';

/** How much to send; equal seeds send equal requests, but for identifiers. */
export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  readonly concurrency?: number;
}

/** What a fuzz found, and how far its requests came. */
export interface FuzzReport extends ProbeReport {
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** The routes of which at least one request succeeded. */
  readonly succeeded: ReadonlySet<string>;
}

/**
 * Random requests for every route, made from the contract's own schemas, from bodies that are accepted and from the corpus: no 5xx but a 503
 * that says when to come again, every refusal in its shape, no answer after `latestAnswerMs`.
 */
export async function probeFuzz(target: ProbeTarget, options: FuzzOptions): Promise<FuzzReport> {
  const { requests, seed, concurrency = 8 } = options;
  const findings = new Findings();
  const statuses: Record<number, number> = {};
  const succeeded = new Set<string>();
  const queue = fuzzRequests(target, { requests, seed }).values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const request of queue) {
        const status = await judge(target, request, findings);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === 200) succeeded.add(request.route.id);
      }
    }),
  );
  return { ...findings.report(), statuses, succeeded };
}

async function judge(target: ProbeTarget, request: FuzzRequest, findings: Findings): Promise<number> {
  const { route, path, body, headers } = request;
  const startedAt = performance.now();
  const reply = await send(target.url, {
    method: route.method,
    path,
    key: target.testKey,
    body,
    headers: { ...(route.idempotency === 'ignored' ? {} : { 'idempotency-key': crypto.randomUUID() }), ...headers },
  });
  findings.sent();
  // Eight clients at one record do meet: who is told when to come again is not failed.
  const isContention = reply.status === 503 && reply.headers['retry-after'] !== undefined;
  const sent = typeof body === 'string' ? body.slice(0, 2_000) : (body ?? '');
  const told = `${route.method} ${path} ${sent}: ${reply.status} ${reply.text.slice(0, 200)}`;
  findings.expect(reply.status < 500 || isContention, told);
  findings.expect(reply.status < 400 || isRefusal(reply.status, reply.json), `${told} (not the contract's shape)`);
  findings.expect(performance.now() - startedAt < latestAnswerMs, `${told} (too slow)`);
  return reply.status;
}
