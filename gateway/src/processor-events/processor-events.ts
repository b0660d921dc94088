import type { IncomingMessage } from 'node:http';
import { limits } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { eventOwners, isKeptEventType, isSigned, type ProcessorEvent, readEvent } from '@eligo/processor/events';
import type { Logger, Metrics, ServiceContext } from '@eligo/service';
import { ownAccount } from '@eligo/values';
import type { Exchange } from '../api.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { FailedAuthentications } from '../http/failed-authentications.ts';
import { networkOf } from '../http/network-of.ts';
import type { PublicRoute } from '../http/public-router.ts';
import { parseJson, readBytes } from '../http/read-body.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import { writeJson } from '../http/write-answer.ts';
import type { Peers } from '../peers.ts';
import type { EventSource } from './event-source.ts';

export interface ProcessorEventParts {
  readonly sources: readonly EventSource[];
  readonly peers: Peers;
  readonly failed: FailedAuthentications;
  readonly proxies: TrustedProxies;
  /** A budget apart: who sends is not known before the body is whole. */
  readonly bodies: BodyBudget;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly callerFor: ServiceContext['callerFor'];
}

/** The processor waits for ten seconds or so, and then delivers again. */
const storeTimeoutMs = 5_000;

/**
 * Answers `POST /processors/{name}/events`. An event whose signature holds is stored by the service that keeps events of its type before it is
 * answered; what fails is delivered again by the processor. An event of a type that no service keeps, or of an account that is not ours, is
 * answered and counted.
 */
export function processorEventRoute(parts: ProcessorEventParts): PublicRoute {
  const counted = parts.metrics.counter(
    'processor_events_total',
    'Events that processors delivered by processor and outcome (kept, type_not_kept, account_unknown, refused)',
    ['processor', 'outcome'],
  );
  const serve = async (exchange: Exchange, { name }: Readonly<Record<string, string>>) => {
    const source = parts.sources.find((one) => one.name === name);
    if (source === undefined) throw new Failure('not_found');
    const event = await readSigned(parts, source, exchange.request).catch((error: unknown) => {
      counted.inc({ processor: source.name, outcome: 'refused' });
      throw error;
    });
    const outcome = await keep(parts, source, event, exchange);
    counted.inc({ processor: source.name, outcome });
    writeJson(exchange.response, 200, '{"received":true}', exchange.requestId, exchange.headers);
  };
  return { id: 'processors.events', path: '/processors/:name/events', methods: ['POST'], serve };
}

async function readSigned(
  { failed, proxies, bodies }: ProcessorEventParts,
  source: EventSource,
  request: IncomingMessage,
): Promise<ProcessorEvent> {
  const bytes = await readWhole(request, bodies, networkOf(request, proxies));
  if (!isSigned(bytes, request.headers['stripe-signature']?.toString(), source.secrets)) {
    const refusal = failed.refuse(networkOf(request, proxies));
    throw refusal.code === 'rate_limited' ? refusal : new Failure('event_signature_invalid');
  }
  const event = readEvent(parseJson(bytes));
  if (event === undefined) throw new Failure('bad_request');
  return event;
}

async function readWhole(request: IncomingMessage, bodies: BodyBudget, network: string): Promise<Buffer> {
  const room = bodies.room(network, () => request.destroy());
  try {
    return await readBytes(request, room, limits.bodyBytes);
  } finally {
    room.release();
  }
}

async function keep(
  { peers, logger, callerFor }: ProcessorEventParts,
  source: EventSource,
  event: ProcessorEvent,
  { requestId, traceparent }: Exchange,
): Promise<'kept' | 'type_not_kept' | 'account_unknown'> {
  const { eventId, type, objectId, createdAt } = event;
  if (!isKeptEventType(type)) return 'type_not_kept';
  const scopes = await source.accountsOf(event);
  if (scopes.length === 0) {
    logger.warn({ processor: source.name, eventId }, 'Event of a processor account that is not mapped to an account');
    return 'account_unknown';
  }
  const message = {
    ...{ processor: source.name, processorAccount: event.processorAccount ?? ownAccount },
    ...{ eventId, type, objectId, createdAtMs: BigInt(createdAt.getTime()) },
  };
  const given = { requestId, traceparent, timeoutMs: storeTimeoutMs };
  await Promise.all(
    scopes.map((scope) => {
      const call = { caller: callerFor({ ...scope, features: [] }), ...given };
      return peers[eventOwners[type]].acceptProcessorEvent(message, call);
    }),
  );
  return 'kept';
}
