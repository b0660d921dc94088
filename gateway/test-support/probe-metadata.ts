import { allRoutes, type Route } from '@eligo/contract';
import { z } from 'zod';
import { Findings, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { pathOf, send } from './send.ts';

const before = { a: 'b', c: 'd' };

/** What an update does with `metadata`, as it is sent, and what is there afterwards. */
const steps: readonly { readonly sent?: unknown; readonly is: unknown }[] = [
  { sent: before, is: before },
  { is: before },
  { sent: null, is: before },
  { sent: { z: '1' }, is: { z: '1' } },
  { sent: { z: null, y: '2' }, is: { y: '2' } },
  { sent: {}, is: {} },
  { sent: before, is: before },
  { sent: [], is: {} },
];

/** Every update that takes metadata puts it in the place of what was there. Left out or null it stays, but is cleared by a PUT. */
export async function probeMetadata(target: ProbeTarget): Promise<ProbeReport> {
  const findings = new Findings();
  for (const route of allRoutes.filter(updatesMetadata)) {
    for (const { sent, is } of steps) {
      const meant = route.method === 'PUT' && (sent === undefined || sent === null) ? {} : is;
      const reply = await send(target.url, {
        method: route.method,
        path: pathOf(route, (route.seed && target.own[route.seed]) || ''),
        key: target.testKey,
        body: JSON.stringify({ [envelopeOf(route)]: { metadata: sent } }),
      });
      findings.sent();
      const { metadata } = (reply.json as Record<string, { metadata?: unknown }>)[envelopeOf(route)] ?? {};
      const found = JSON.stringify(metadata);
      findings.expect(found === JSON.stringify(meant), `${route.id} ${JSON.stringify(sent)}: ${reply.status} ${found}`);
    }
  }
  return findings.report();
}

function updatesMetadata({ body, params }: Route): boolean {
  const schema = body?.schema;
  return Object.keys(params).length > 0 && schema instanceof z.ZodObject && Object.hasOwn(schema.shape, 'metadata');
}

function envelopeOf({ body }: Route): string {
  return body?.envelope ?? '';
}
