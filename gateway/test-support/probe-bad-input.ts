import { allRoutes, type Route } from '@eligo/contract';
import { corpusOf } from './corpus.ts';
import { Findings, latestAnswerMs, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { isRefusal, pathOf, type Reply, send } from './send.ts';

/**
 * What gives a server that trusts its input a 5xx, on every route (the corpus): each is refused by a 4xx of the contract's shape, or is harmless
 * where the route has no use for it. Nothing is ever a 5xx, and no answer comes after `latestAnswerMs`. With `every: N`, each N-th request of
 * the corpus is sent.
 */
export async function probeBadInput(target: ProbeTarget, { every = 1 } = {}): Promise<ProbeReport> {
  const findings = new Findings();
  let position = 0;
  for (const route of allRoutes) {
    for (const { what, refused, ...sent } of corpusOf(route, target)) {
      if (position++ % every !== 0) continue;
      const startedAt = performance.now();
      const reply = await send(target.url, {
        method: route.method,
        key: target.testKey,
        ...sent,
        path: at(route, target, sent.path),
      });
      findings.sent();
      const told = `${route.id}, ${what}: ${reply.status} ${reply.text.slice(0, 200)}`;
      findings.expect(reply.status < 500, told);
      findings.expect(performance.now() - startedAt < latestAnswerMs, `${told} (too slow)`);
      if (refused) findings.expect(reply.status >= 400, `${told} (not refused)`);
      if (reply.status >= 400)
        findings.expect(isRefusal(reply.status, reply.json), `${told} (not the contract's shape)`);
      const isContent = route.download !== undefined && reply.status === 200;
      findings.expect(isContent || isJson(reply), `${told} (no JSON or no request id)`);
    }
  }
  await probeMethods(target, findings);
  return findings.report();
}

// Methods that HTTP knows and a path does not take are 405, never 501; paths that are none are 404.
async function probeMethods(target: ProbeTarget, findings: Findings): Promise<void> {
  const key = target.testKey;
  for (const path of new Set(allRoutes.map((route) => at(route, target)))) {
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'LOCK']) {
      const reply = await send(target.url, { method, path, key });
      findings.sent();
      findings.expect(reply.status === 405 && isRefusal(405, reply.json), `${method} ${path}: ${reply.status}`);
      findings.expect(reply.headers.allow !== undefined, `${method} ${path}: no Allow header`);
    }
  }
  for (const path of [
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1//prices',
    '/v1/prices/a/b/c',
    '/v1/prices/%00',
    '/v1/prices/%',
    '/nothing',
  ]) {
    const reply = await send(target.url, { method: 'GET', path, key });
    findings.sent();
    findings.expect(reply.status === 404 && isRefusal(404, reply.json), `GET ${path}: ${reply.status} ${reply.text}`);
  }
}

function at(route: Route, { own }: ProbeTarget, query = ''): string {
  return pathOf(route, (route.seed && own[route.seed]) || '') + query;
}

function isJson(reply: Reply): boolean {
  return (
    reply.json !== undefined &&
    reply.headers['content-type'] === 'application/json; charset=utf-8' &&
    reply.headers['request-id'] !== undefined
  );
}
