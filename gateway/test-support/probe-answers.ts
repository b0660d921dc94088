import { allRoutes, type Route } from '@eligo/contract';
import { Findings, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { pathOf, send } from './send.ts';
import { exampleContent } from './upload.ts';

/**
 * Every success parses with its route's answer schema, strictly, with and without everything expanded; what a real stack refuses for the state
 * of the record is counted as nothing. `mustSucceed` says for which routes only a 200 will do.
 */
export async function probeAnswers(
  target: ProbeTarget,
  mustSucceed: (route: Route) => boolean = ({ method }) => method === 'GET',
): Promise<ProbeReport> {
  const findings = new Findings();
  const routes = [...allRoutes].sort((a, b) => Number(a.method !== 'GET') - Number(b.method !== 'GET'));
  for (const route of routes) {
    const everything = [...route.expansion.keys()].join(',');
    for (const query of everything === '' ? [''] : ['', `?expand=${everything}`]) {
      const { body, headers } = exampleContent(route, target.references);
      const reply = await send(target.url, {
        method: route.method,
        path: pathOf(route, (route.seed && target.own[route.seed]) || '') + query,
        key: target.testKey,
        body,
        headers: route.idempotency === 'ignored' ? headers : { ...headers, 'idempotency-key': crypto.randomUUID() },
      });
      findings.sent();
      const told = `${route.id}${query}: ${reply.status} ${reply.text.slice(0, 300)}`;
      if (mustSucceed(route)) findings.expect(reply.status === 200, told);
      findings.expect(reply.status < 500, told);
      if (reply.status !== 200) continue;
      if (route.download !== undefined) {
        findings.expect(route.download.includes(reply.headers['content-type'] ?? ''), `${told} (another type)`);
        continue;
      }
      const parsed = route.response.safeParse(reply.json);
      findings.expect(parsed.success, `${route.id}${query}: ${parsed.error?.message.slice(0, 500)}`);
    }
  }
  return findings.report();
}
