import type { IncomingMessage } from 'node:http';
import { notFoundCodeOf, type Route } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { CallOptions } from '@eligo/rpc';
import { type IdKind, isId } from '@eligo/values';
import type { ActiveKey } from './accounts/key-cache.ts';
import type { Binding, Handler } from './bind.ts';
import type { Answer } from './http/api-request.ts';
import type { BodyBudget, BodyRoom } from './http/body-budget.ts';
import { idempotencyOf } from './http/idempotency.ts';
import { type Intake, intakeOf } from './http/intake.ts';
import { parseQuery } from './http/parse-query.ts';
import { PathTable } from './http/path-table.ts';
import { hasBody, readBody } from './http/read-body.ts';
import type { HeaderList } from './http/write-answer.ts';
import type { Peers } from './peers.ts';
import { type Presence, presenceOf } from './presence.ts';
import type { Turn } from './turns/request-turns.ts';

/** A route that is ready to answer. */
export interface Mounted {
  readonly route: Route;
  /** Headers that every answer of this route carries. */
  readonly headers: HeaderList;
  answer(incoming: Incoming): Promise<Answer>;
}

/** A request for a mounted route, after its key was found and allowed. */
export interface Incoming {
  readonly request: IncomingMessage;
  readonly key: ActiveKey;
  readonly path: string;
  readonly queryText: string;
  readonly params: readonly string[];
  readonly call: CallOptions;
  readonly turn: Turn;
}

/** Binds every route of the contract to its path. Throws when one has no handler, or a handler no route. */
export function mount(
  routes: readonly Route[],
  bindings: readonly Binding[],
  peers: Peers,
  bodies: BodyBudget,
): PathTable<Mounted> {
  const handlers = new Map(bindings.map(({ route, handle }) => [route, handle]));
  if (handlers.size !== bindings.length) throw new Error('A route is bound twice');
  const presence = presenceOf(bindings, peers);
  const table = new PathTable<Mounted>();
  for (const route of routes) {
    const handle = handlers.get(route);
    if (handle === undefined) throw new Error(`Route ${route.id} has no handler`);
    handlers.delete(route);
    table.add(route.method, route.path, mounted(route, handle, presence, bodies));
  }
  if (handlers.size > 0) throw new Error('A handler is bound to a route that the contract does not declare');
  return table;
}

function mounted(route: Route, handle: Handler<unknown, unknown>, presence: Presence, bodies: BodyBudget): Mounted {
  const intake = intakeOf(route);
  const [kind] = Object.values(route.params);
  if (kind !== undefined && !presence.canAsk(kind))
    throw new Error(`Route ${route.id} has no presence check for a ${kind}`);
  const takesBody = route.method !== 'GET';
  const headers = deprecationHeaders(route);

  return {
    route,
    headers,
    async answer(incoming) {
      const named = incoming.params[0] ?? '';
      // Where the body goes first, the service says in its own order that the path names nothing.
      const id = kind === undefined || route.bodyFirst ? named : checkedId(kind, named);
      const { key, call, request, turn } = incoming;
      // A plain read by id, which is most of all traffic, has nothing else to look at.
      if (!takesBody && incoming.queryText === '' && route.query === undefined) {
        return handle({ key, call, id, headers: request.headers, request, turn, ...nothingGiven });
      }
      const room = bodies.room(key.caller.accountId, () => request.destroy());
      try {
        const taken = await takeIn(route, intake, kind, id, incoming, presence, room);
        return await handle({ key, call, id, headers: request.headers, request, turn, ...taken });
      } catch (error) {
        // Returned before the record is read, but after a 404 for the path.
        if (kind !== undefined && error instanceof Failure && error.code === 'processor_not_configured') {
          await presence.assertPresent(kind, id, { key, call, headers: request.headers, request, turn });
        }
        throw error;
      } finally {
        room.release();
      }
    },
  };
}

const nothingGiven = {
  query: undefined,
  body: undefined,
  expand: new Set<string>() as ReadonlySet<string>,
  idempotency: undefined,
} as const;

async function takeIn(
  route: Route,
  intake: Intake,
  kind: IdKind | undefined,
  id: string,
  { request, key, path, queryText, call, turn }: Incoming,
  presence: Presence,
  room: BodyRoom,
) {
  try {
    const idempotency = idempotencyOf(route, request);
    // The body of an upload is read by its handler, as it arrives.
    if (isUpload(route)) {
      followUpload(request, room);
      turn.awaitsClient();
    } else if (route.method !== 'GET' && hasBody(request))
      turn.expectsBody(Number(request.headers['content-length'] ?? 0));
    const sent =
      route.method === 'GET' || isUpload(route)
        ? undefined
        : await readBody(request, room, { hold: (bytes) => turn.hasBody(bytes) });
    const asked = parseQuery(queryText);
    const { query, body, expand } = intake(asked, sent, key);
    const hashed = idempotency?.({ method: route.method, path, query: asked, body: sent });
    return { query, body, expand, idempotency: hashed };
  } catch (error) {
    if (kind !== undefined && !route.bodyFirst && error instanceof Failure) {
      await presence.assertPresent(kind, id, { key, call, headers: request.headers, request, turn });
    }
    throw error;
  }
}

function followUpload(request: IncomingMessage, room: BodyRoom): void {
  const { socket } = request;
  room.awaitsUpload(() => socket.bytesRead);
  request.once('end', () => room.arrived());
}

function isUpload({ body }: Route): boolean {
  return body?.file !== undefined;
}

function checkedId(kind: IdKind, text: string): string {
  if (!isId(kind, text)) throw new Failure(notFoundCodeOf(kind));
  return text;
}

// RFC 9745, RFC 8594 and RFC 8288 (interface, Versioning 2).
function deprecationHeaders({ deprecation }: Route): HeaderList {
  if (deprecation === undefined) return [];
  const { since, sunset, successor } = deprecation;
  return ['Deprecation', since, 'Sunset', sunset, 'Link', `<${successor}>; rel="successor-version"`];
}
