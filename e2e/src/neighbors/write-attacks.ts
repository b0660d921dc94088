import { allRoutes, type Route } from '@eligo/contract';
import type { Api } from '@eligo/testkit';
import type { Attack } from './attack.ts';
import { flood, type Prepared } from './flood.ts';
import { uniqueMark } from './largest-values.ts';
import { largestWrites, type Write } from './largest-writes.ts';
import { send } from './prepared.ts';
import { newWriteTarget } from './write-target.ts';

export const writeAttacks: readonly Attack[] = [writesOf('every write at its largest', Object.keys(largestWrites))];

/** The largest writes of these routes, by turns. */
export function writesOf(name: string, routeIds: readonly string[]): Attack {
  return {
    name,
    async prepare(account) {
      const target = await newWriteTarget(account);
      const routes = routeIds.map((id) => {
        const route = allRoutes.find((one) => one.id === id);
        const writes = largestWrites[id]?.(target) ?? [];
        if (route === undefined || writes.length === 0) throw new Error(`${id} has no write`);
        return writes.map((write) => preparedWrite(route, write));
      });
      // A write that is refused whatever the limits are is no attack.
      const refusals: string[] = [];
      for (const [at, [first]] of routes.entries()) {
        const answer = await answerTo(account.unlimited, (first as () => Prepared)());
        if (answer.status !== 200) refusals.push(`${routeIds[at]}: ${answer.status} ${await answer.text()}`);
      }
      if (refusals.length > 0) throw new Error(`writes that are to be accepted were not: ${refusals.join(', ')}`);
      let sent = routes.length;
      return (signal) =>
        flood(signal, account.perSecond * 1.2, () => {
          const writes = routes[sent % routes.length] as readonly (() => Prepared)[];
          const write = writes[Math.floor(sent / routes.length) % writes.length] as () => Prepared;
          sent += 1;
          return send(account.api, write());
        });
    },
  };
}

function answerTo({ url, key }: Api, { method, path, headers, body }: Prepared): Promise<Response> {
  const sent = { method, headers: { ...headers, authorization: `Bearer ${key}` } };
  return fetch(url + path, body === undefined ? sent : { ...sent, body: new Uint8Array(body) });
}

/** Makes the request of a write; what is to be another in each request is. */
function preparedWrite(route: Route, { id, body }: Write): () => Prepared {
  const { method, path, idempotency } = route;
  const envelope = route.body?.envelope ?? null;
  const to = id === undefined ? path : path.replace(/\{\w+\}/, id);
  const parts =
    body === undefined
      ? undefined
      : JSON.stringify(envelope === null ? body : { [envelope]: body })
          .split(uniqueMark)
          .map((part) => Buffer.from(part));
  return () => ({
    ...{ method, path: to },
    headers: {
      ...(parts === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotency === 'ignored' ? {} : { 'idempotency-key': crypto.randomUUID() }),
    },
    ...(parts === undefined ? {} : { body: joined(parts) }),
  });
}

function joined(parts: readonly Buffer[]): Buffer {
  const mark = Buffer.from(crypto.randomUUID());
  return Buffer.concat(parts.flatMap((part, at) => (at === 0 ? [part] : [mark, part])));
}
