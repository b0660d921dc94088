import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Json, JsonObject, Route } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { CallOptions } from '@eligo/rpc';
import { isId } from '@eligo/values';
import type { ActiveKey } from './accounts/key-cache.ts';
import type { GatewaySettings } from './config.ts';
import { FileAnswer, StreamedAnswer } from './http/api-request.ts';
import type { Authenticator } from './http/authenticate.ts';
import { authorize } from './http/authorize.ts';
import type { PathTable } from './http/path-table.ts';
import type { RateLimiter } from './http/rate-limiter.ts';
import { type HeaderList, writeJson } from './http/write-answer.ts';
import { writeFileAnswer } from './http/write-file-answer.ts';
import { writeStream } from './http/write-stream.ts';
import type { Mounted } from './mount.ts';
import type { RequestTurns } from './turns/request-turns.ts';

/** One request and what is known of it so far. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** Headers that the answer carries whatever it is: they pile up on the way. */
  readonly headers: HeaderList;
  /** The route's id, once it is known. */
  routeId: string;
  /** Whose request it is, once its key or its page's token says so. */
  of?: RequestOwner;
  /** The record that the path names, or that the request created. */
  recordId?: string | undefined;
  /** The code of the refusal. */
  code?: string;
  /** Writes a refusal as a page, where a shopper reads it. */
  writeRefusal?: (failure: Failure) => Promise<void>;
}

/** The account of a request, as its log line names it. */
export interface RequestOwner {
  readonly accountId: string;
  readonly testMode: boolean;
  /** None on the checkout page. */
  readonly keyId?: string;
}

/** What answers the requests under /v1. */
export interface ApiParts {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly turns: RequestTurns;
  readonly table: PathTable<Mounted>;
  readonly settings: Pick<GatewaySettings, 'deprecatedEndpoints'>;
  /** Runs a request's work in a span of its own, where traces are on. */
  readonly traced: <Result>(
    name: string,
    traceparent: string | undefined,
    work: () => Promise<Result>,
  ) => Promise<Result>;
}

/** The response to a request under /v1, errors in the order of decisions 13: 401, 429, 403, 404, 400, 422, then all others. */
export function api(parts: ApiParts): (exchange: Exchange, path: string, queryText: string) => Promise<void> {
  const { authenticator, turns, table, settings, traced } = parts;
  return async (exchange, path, queryText) => {
    const { request, response } = exchange;
    const found = authenticator.authenticate(request);
    const key = found instanceof Promise ? await found : found;
    exchange.of = key;
    limit(parts, key, exchange.headers);

    const match = table.find(request.method ?? '', path);
    if (match === undefined) throw new Failure('not_found');
    if ('allow' in match) {
      exchange.headers.push('Allow', match.allow.join(', '));
      throw new Failure('method_not_allowed');
    }
    const { target, params } = match;
    exchange.routeId = target.route.id;
    exchange.recordId = namedRecord(target.route, params[0]);
    exchange.headers.push(...target.headers);
    authorize(key, target.route, settings.deprecatedEndpoints);

    const admitted = turns.begin(key, target.route);
    const turn = admitted instanceof Promise ? await admitted : admitted;
    try {
      const call = callOf(exchange, key, target.route.streamed);
      const incoming = { request, key, path, queryText, params, call, turn };
      const answer = await turn.run(() => traced(target.route.id, exchange.traceparent, () => target.answer(incoming)));
      if (answer instanceof StreamedAnswer) {
        await writeStream(response, answer, exchange.requestId, exchange.headers, turn);
      } else if (answer instanceof FileAnswer) {
        turn.answered(target.route, 0);
        // A slow client holds no turn.
        turn.end();
        await writeFileAnswer(response, answer, exchange.requestId, exchange.headers);
      } else {
        exchange.recordId ??= recordIdOf(answer);
        const text = JSON.stringify(answer);
        turn.answered(target.route, text.length);
        writeJson(response, 200, text, exchange.requestId, exchange.headers);
      }
    } finally {
      turn.end();
    }
  };
}

// What is no identifier may be anything, so it is not logged.
function namedRecord({ params }: Route, named: string | undefined): string | undefined {
  const [kind] = Object.values(params);
  return kind !== undefined && named !== undefined && isId(kind, named) ? named : undefined;
}

// A response with one record has it under its name, and the record's id under `<name>_id`.
function recordIdOf(answer: JsonObject): string | undefined {
  for (const name in answer) {
    const record = answer[name];
    const id = isRecord(record) ? record[`${name}_id`] : undefined;
    return typeof id === 'string' ? id : undefined;
  }
  return undefined;
}

function isRecord(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws where this request is more than the key may make. */
function limit({ limiter, turns }: ApiParts, key: ActiveKey, headers: HeaderList): void {
  if (key.perSecond === undefined) return;
  // The process's own clock: a wall clock that is set back would refuse everybody until it caught up.
  const allowance = limiter.take(key.keyId, key.perSecond, performance.now());
  headers.push(
    'RateLimit-Limit',
    String(allowance.limit),
    'RateLimit-Remaining',
    String(allowance.remaining),
    'RateLimit-Reset',
    String(allowance.resetSeconds),
  );
  if (allowance.allowed) return;
  turns.neighbors.noteLimit(key);
  throw new Failure('rate_limited', { retryAfterSeconds: allowance.retryAfterSeconds });
}

// Only a stream is worth a signal of its own: everything else ends by its deadline within seconds.
function callOf({ requestId, traceparent, response }: Exchange, key: ActiveKey, streamed: boolean): CallOptions {
  const { caller } = key;
  if (!streamed) return { caller, requestId, traceparent };
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return { caller, requestId, traceparent, signal: controller.signal };
}
