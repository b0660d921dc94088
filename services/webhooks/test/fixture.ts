import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { handleOnce } from '@eligo/events';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { openKeyring } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { createEndpoint } from '../src/actions/create-endpoint.ts';
import { fanOutEvents } from '../src/actions/fan-out-events.ts';
import { keyOpener, secretBox } from '../src/actions/secret-box.ts';
import type { Context, DeliveryShare, Sender } from '../src/context.ts';
import { mostPlanned } from '../src/domain/delivery.ts';
import { openPoster } from '../src/jobs/delivery/post.ts';
import type { Resolver } from '../src/jobs/delivery/resolve.ts';
import { DeliveryWorker } from '../src/jobs/delivery/worker.ts';
import type { DeliveryWorkerOptions } from '../src/jobs/delivery/worker-options.ts';
import { webhooksService } from '../src/service.ts';

/** The service's parts on a database of their own, with a clock that the test moves. */
export interface Fixture {
  readonly database: Database;
  /** Of the database; with `admin`, what `readStatements` takes. */
  readonly name: string;
  readonly admin: TestDatabase['admin'];
  readonly webhooks: { -readonly [Key in keyof Context]: Context[Key] };
  readonly worker: DeliveryWorker;
  readonly errors: unknown[];
  readonly clock: { now(): Date; advance(ms: number): void; reset(): void };
  /** Another sender on the same database, as a second process would be. */
  anotherWorker(options?: Partial<DeliveryWorkerOptions>): DeliveryWorker;
  /** Hands an event to the consumer, as the bus does. */
  consume(event: Event): Promise<boolean>;
  /** An endpoint of this account that wants these types. */
  endpoint(scope: Scope, url: string, events?: string[]): Promise<{ webhookId: string; secret: string }>;
  close(): Promise<void>;
}

/** Opens the fixture; `options` are the worker's. No stall of the machine makes an attempt take as long as `timeoutMs`. */
export async function openFixture(
  options: Partial<DeliveryWorkerOptions> = {},
  timeoutMs = 20_000,
  resolver: Resolver = async () => ['127.0.0.1'],
): Promise<Fixture> {
  const place = await testDatabase(webhooksService);
  const database = place.open('webhooks', { max: 8 });
  const rules = { reach: 'loopback', ports: [443] } as const;
  const secrets = secretBox(openKeyring(`k1:${randomBytes(32).toString('base64')}`));
  const errors: unknown[] = [];
  let ahead = 0;
  const clock = {
    now: () => new Date(Date.now() + ahead),
    advance(ms: number) {
      ahead += ms;
    },
    reset() {
      ahead = 0;
    },
  };
  const posters: { close(): void }[] = [];
  const workers: DeliveryWorker[] = [];
  const anotherWorker = (more: Partial<DeliveryWorkerOptions> = {}) => {
    const poster = openPoster({ rules, resolver, timeoutMs });
    posters.push(poster);
    const worker = new DeliveryWorker({
      ...{ database, poster, clock, share: ample, openKey: keyOpener(secrets), onError: (error) => errors.push(error) },
      ...options,
      ...more,
    });
    workers.push(worker);
    return worker;
  };
  const worker = anotherWorker();
  const webhooks: Fixture['webhooks'] = {
    ...{ database, clock, rules, secrets },
    sender: worker,
    share: ample,
  };
  return {
    ...{ database, name: place.name, admin: place.admin, webhooks, worker, errors, clock, anotherWorker },
    consume: (event) =>
      handleOnce(database, 'public-events', event, (tx, { accountId, testMode }) =>
        fanOutEvents(webhooks, tx, { accountId, testMode }, [event]),
      ),
    async endpoint(scope, url, events = []) {
      const { endpoint, signingSecret } = await createEndpoint(webhooks, scope, { url, events });
      return { webhookId: endpoint.webhookId, secret: signingSecret };
    },
    async close() {
      await Promise.all(workers.map((one) => one.stop()));
      for (const poster of posters) poster.close();
      await place.drop();
    },
  };
}

/** A process with time to spare. */
export const ample: DeliveryShare = {
  run: (_scope, work) => work(),
  mostPlanned: () => mostPlanned,
  isSpent: () => false,
  planMany: (_scope, plan) => plan(),
};

/** A sender that is handed nothing and sleeps on: what is planned waits for whoever looks. */
export const asleep: Sender = {
  owner: 'asleep',
  leaseMs: 60_000,
  rooms: () => new Map(),
  handOver: () => undefined,
  watchLanes: () => undefined,
  wake: () => undefined,
};

/** An account and mode of a test's own. */
export function someScope(testMode = true): Scope {
  return { accountId: newId('account'), testMode };
}

/** A `refund.created` of this account. */
export function refundEvent(scope: Scope, type = 'refund.created'): Event {
  const refundId = newId('refund');
  return create(EventSchema, {
    eventId: newId('event'),
    type,
    accountId: scope.accountId,
    testMode: scope.testMode,
    aggregateId: refundId,
    aggregateSeq: 1n,
    occurredAtMs: BigInt(Date.now()),
    requestId: 'req_test',
    object: {
      case: 'refund',
      value: {
        $typeName: 'eligo.refunds.v1.Refund',
        refundId,
        paymentIntentId: newId('payment_intent'),
        amountCents: 1_250n,
        createdAtMs: BigInt(Date.now()),
        status: 'pending',
        testMode: scope.testMode,
        metadata: { note: 'größer' },
        items: [],
      },
    },
  });
}

/** A request that a receiver got, and its body. */
export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A receiver of webhooks: a real HTTP server on this machine. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Answers from now on; 200 at first. */
  answerWith(answer: (request: Received, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

/** Starts a receiver. */
export async function receiver(): Promise<Receiver> {
  const received: Received[] = [];
  let answer = (_request: Received, response: ServerResponse): void => void response.end('ok');
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const got = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
    received.push(got);
    answer(got, response);
  };
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    answerWith(next) {
      answer = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The rows of a table of this account, as the superuser sees them. */
export function rowsOf(from: Fixture, table: string, scope: Scope): Promise<Record<string, unknown>[]> {
  return from.admin(`select * from webhooks.${table} where account_id = $1 and test_mode = $2`, [
    scope.accountId,
    scope.testMode,
  ]);
}

/** Runs something in a transaction of this account. */
export function inScope<T>(from: Fixture, scope: Scope, run: Parameters<typeof withTx<T>>[2]): Promise<T> {
  return withTx(from.database, scope, run);
}
