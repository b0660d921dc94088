import { createHash, randomBytes } from 'node:crypto';
import type { Database, Scope } from '@eligo/postgres';
import { openProcessors, type ProcessorPort, type Processors, type TestBank } from '@eligo/processor';
import { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import {
  type CallOptions,
  type Client,
  client,
  generateComponentKeys,
  inProcessTransport,
  openIdentity,
  rpcServer,
} from '@eligo/rpc';
import { startSandbox } from '@eligo/sandbox';
import { buildService, createLogger, type EventBus, type Service, turnFailpointsOn } from '@eligo/service';
import { type TestDatabase, testDatabase, testHome, waitUntil } from '@eligo/testkit';
import { newId, type ProcessorAccount } from '@eligo/values';
import { refundsService } from '../src/service.ts';
import { FakeCheckout, type PaidSession } from './fake-checkout.ts';

/** What each card of a session pays, in cents, by the card's name at the sandbox. */
export type Payments = Partial<Record<'hsa' | 'credit' | 'refund_pending' | 'refund_fails', number>>;

/** The refunds service on a database and a sandbox processor of its own, beside a checkout that the test plays. */
export interface Fixture {
  readonly service: Service;
  readonly checkout: FakeCheckout;
  /** The warnings and errors that the service has logged. */
  readonly log: string[];
  readonly admin: TestDatabase['admin'];
  /** A database as the operator's command has it: row-level security does not bind it. */
  operator(): Database;
  readonly refunds: Client<typeof RefundsService>;
  /** A call of the gateway for this account, with more time than one that moves money. */
  as(scope: Scope, features?: string[]): CallOptions;
  /** A session that was paid at the sandbox: at the account of new money unless another is named. */
  paid(scope: Scope, payments: Payments, at?: ProcessorAccount): Promise<PaidSession>;
  /** Arms a fault of the sandbox, for one call unless `times` says otherwise. */
  fault(fault: { call: string; kind: string; delay_ms?: number; times?: number }): Promise<void>;
  /** The processor as an account sees it, and what only its bank can do. */
  port(scope: Scope): ProcessorPort & { readonly testBank: TestBank };
  /** The same at an account that new money may not go to. */
  portAt(scope: Scope, at: ProcessorAccount): ProcessorPort;
  /** An event about an object of the processor arrives, under an identifier of its own unless one is given. */
  arrives(scope: Scope, type: string, objectId: string, eventId?: string): Promise<string>;
  /** Lets every event that waits be due, and handles them. */
  handleEvents(): Promise<void>;
  /** Lets every dispute be looked at by its job. */
  lookAtDisputes(): Promise<void>;
  /** The refunds that the sandbox has of this session's cards. */
  atProcessor(session: PaidSession): Promise<ProcessorRefund[]>;
  /** The files that the sandbox has. */
  filesAtProcessor(): Promise<ProcessorFile[]>;
  /** Lets everything that waits be due, sweeps, and waits until what was begun has come to where only time can move it. */
  sweep(): Promise<void>;
  /** Lets everything that waits be due and sweeps once; what the sweep began has ended by then. */
  sweepOnce(): Promise<void>;
  /** Another process of the service on the same database, as after a crash. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** A file as the sandbox's witness has it. */
export interface ProcessorFile {
  readonly id: string;
  readonly filename: string;
  readonly sha256: string;
}

/** A refund as the sandbox's witness has it. */
export interface ProcessorRefund {
  readonly id: string;
  readonly amount: number;
  readonly status: string;
  readonly payment_intent: string;
}

/** Opens the fixture, on a database of its own unless there is one. */
export async function openFixture(options: { place?: TestDatabase } = {}): Promise<Fixture> {
  const place = options.place ?? (await testDatabase(refundsService));
  const home = testHome('sandbox');
  const secretKey = `sk_test_${randomBytes(16).toString('hex')}`;
  const sandbox = await startSandbox({ home: home.root, host: '127.0.0.1', port: 0, secretKey });
  const keys = generateComponentKeys(['gateway', 'checkout', 'refunds']);
  const identityOf = (name: string) =>
    openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
  const gateway = identityOf('gateway');
  const checkout = new FakeCheckout();
  const checkoutServer = rpcServer({ handlers: [checkout.handlers()], identity: identityOf('checkout') });
  const processors = openProcessors({ ELIGO_SANDBOX_URL: sandbox.url, ELIGO_SANDBOX_KEY: secretKey });
  turnFailpointsOn();
  const log: string[] = [];
  const logger = createLogger({
    ...{ service: 'refunds', level: 'warn' as const },
    destination: { write: (line) => log.push(line) },
  });
  // No stall of the machine ends a wait: neither for a connection or a lock, nor for an answer.
  const patience = { statementTimeoutMs: 30_000, lockTimeoutMs: 20_000 };
  const build = () =>
    buildService(refundsService, {
      database: place.open('refunds', { max: 10, ...patience }),
      environment: {
        ELIGO_ENV: 'test',
        REFUNDS_DATABASE_URL: place.urlOf('refunds'),
        NATS_URL: 'nats://refunds:unused-in-this-test@127.0.0.1:4222',
        ELIGO_SERVICE_KEY: keys.privateKeys.refunds,
        ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(keys.publicKeys),
        ELIGO_SANDBOX_URL: sandbox.url,
        ELIGO_SANDBOX_KEY: secretKey,
      },
      transportTo: () => inProcessTransport(checkoutServer, { encode: true }),
      grpc: false,
      connectEvents: async () => quietBus,
      logger,
    });
  let service = await build();
  let operator: Database | undefined;
  const connect = () => client(RefundsService, inProcessTransport(service.server, { encode: true }), gateway);
  const made: { -readonly [Key in keyof Fixture]: Fixture[Key] } = {
    ...{ service, checkout, log, admin: place.admin, refunds: connect() },
    operator() {
      operator ??= place.open('refunds', { url: place.adminUrl, max: 2, ...patience });
      return operator;
    },
    as: (scope, features = []) => ({ caller: gateway.callerFor({ ...scope, features }), timeoutMs: 25_000 }),
    paid: (scope, payments, at) => pay(processors, checkout, scope, payments, at),
    async fault(fault) {
      // What an earlier test armed and nobody ran into must not hit this one.
      await ask(`${sandbox.url}/sandbox/faults`, secretKey, undefined, 'DELETE');
      await ask(`${sandbox.url}/sandbox/faults`, secretKey, { fault: { times: 1, ...fault } });
    },
    port(scope) {
      const port = processors.of(scope);
      if (port.testBank === undefined) throw new Error('the sandbox has no bank');
      return { ...port, testBank: port.testBank };
    },
    portAt: (scope, at) => processors.at(scope, at),
    async arrives(scope, type, objectId, eventId = `evt_${randomBytes(12).toString('hex')}`) {
      const createdAtMs = BigInt(Date.now());
      const event = { processor: 'sandbox', eventId, type, objectId, createdAtMs };
      await made.refunds.acceptProcessorEvent(event, made.as(scope));
      return eventId;
    },
    async handleEvents() {
      await place.admin(
        `update refunds.processor_events set next_check_at = now() - interval '1 second' where status = 'waiting'`,
      );
      while ((await service.jobs.runOnce('handle-processor-events')) === true);
    },
    async lookAtDisputes() {
      await place.admin(
        `update refunds.disputes set next_check_at = now() - interval '1 second', lease_until = now() - interval '1 second'
          where next_check_at is not null`,
      );
      await service.jobs.runOnce('look-at-disputes');
    },
    async atProcessor({ cards }) {
      const intents = new Set(cards.map(({ processorIntentId }) => processorIntentId));
      const { data } = await ask<{ data: ProcessorRefund[] }>(`${sandbox.url}/sandbox/refunds`, secretKey);
      return data.filter(({ payment_intent }) => intents.has(payment_intent));
    },
    async filesAtProcessor() {
      return (await ask<{ data: ProcessorFile[] }>(`${sandbox.url}/sandbox/files`, secretKey)).data;
    },
    async sweep() {
      await untilQuiet(place, async () => {
        await makeEverythingDue(place);
        await service.jobs.runOnce('sweep-refunds');
      });
    },
    async sweepOnce() {
      await makeEverythingDue(place);
      await service.jobs.runOnce('sweep-refunds');
    },
    async restart() {
      await service.stop();
      service = await build();
      made.service = service;
      made.refunds = connect();
    },
    async close() {
      await service.stop();
      processors.close();
      await sandbox.stop();
      home.remove();
      await place.drop();
    },
  };
  return made;
}

/** An account of a test's own, in test mode. */
export function someScope(): Scope {
  return { accountId: newId('account'), testMode: true };
}

/** An Idempotency-Key and the hash of what is sent under it. */
export function under(key: string, body = 'body'): { key: string; requestHash: Uint8Array } {
  return { key, requestHash: createHash('sha256').update(body).digest() };
}

/** Waits until the refund stands at this. */
export function untilStatus(on: Fixture, scope: Scope, refundId: string, status: string) {
  return waitUntil(
    async () => {
      const refund = await on.refunds.getRefund({ id: refundId }, on.as(scope));
      return refund.status === status ? refund : undefined;
    },
    { what: `${refundId} to be ${status}` },
  );
}

/** What the books of an account say, by ledger account. */
export async function books(on: Fixture, scope: Scope): Promise<Record<string, number>> {
  const rows = await on.admin<{ ledger_account: string; balance: string }>(
    `select side.ledger_account, sum(side.amount_cents)::text as balance from refunds.ledger_entries e
       cross join lateral (values (e.ledger_account, e.amount_cents), (e.credit_account, - e.amount_cents)) side (ledger_account, amount_cents)
      where e.account_id = $1 and side.ledger_account is not null group by side.ledger_account`,
    [scope.accountId],
  );
  return Object.fromEntries(rows.map(({ ledger_account, balance }) => [ledger_account, Number(balance)]));
}

/** The types of the events of a refund, in their order. */
export async function eventsOf(on: Fixture, refundId: string): Promise<string[]> {
  const rows = await on.admin<{ type: string }>(
    'select type from refunds.outbox where aggregate_id = $1 order by aggregate_seq',
    [refundId],
  );
  return rows.map(({ type }) => type);
}

const quietBus: EventBus = {
  check: async () => undefined,
  startRelay: () => ({ stop: async () => undefined }),
  startConsumer: () => ({ stop: async () => undefined }),
  close: async () => undefined,
};

async function makeEverythingDue(place: TestDatabase): Promise<void> {
  const due = `next_check_at = now() - interval '1 second', lease_until = now() - interval '1 second'`;
  await place.admin(`update refunds.refunds set ${due} where status = 'requested'`);
  await place.admin(
    `update refunds.refund_attempts set ${due} where status in ('created', 'sending', 'unknown', 'accepted')`,
  );
  await place.admin(`update refunds.refund_items set ${due} where status = 'releasing'`);
}

// What is in flight when it is made due is left alone by its own process, so the sweep comes again until nothing is.
async function untilQuiet(place: TestDatabase, sweep: () => Promise<void>): Promise<void> {
  let looks = 0;
  await waitUntil(
    async () => {
      if (looks++ % 20 === 0) await sweep();
      const [row] = await place.admin<{ busy: string }>(`select (
        (select count(*) from refunds.refund_attempts
          where status in ('created', 'sending')
             or (status in ('unknown', 'accepted') and (lease_until > now() or next_check_at <= now())))
        + (select count(*) from refunds.refund_items where status = 'releasing' and next_check_at <= now())
        + (select count(*) from refunds.refunds where status = 'requested' and next_check_at <= now()))::text as busy`);
      return row?.busy === '0';
    },
    { what: 'refunds to be quiet' },
  );
}

async function pay(
  processors: Processors,
  checkout: FakeCheckout,
  scope: Scope,
  payments: Payments,
  at: ProcessorAccount | null = null,
): Promise<PaidSession> {
  const port = processors.at(scope, at);
  const cards: PaidSession['cards'][number][] = [];
  for (const [card, amountCents] of Object.entries(payments)) {
    const attemptId = newId('charge_attempt');
    const method = await port.testBank?.createPaymentMethod(
      { card: card as keyof Payments },
      { idempotencyKey: `${attemptId}:card` },
    );
    if (method?.kind !== 'found') throw new Error('the sandbox made no payment method');
    const intent = await port.createIntent(
      { attemptId, amountCents, capture: 'automatic', metadata: {} },
      { idempotencyKey: `${attemptId}:create` },
    );
    if (intent.kind !== 'created') throw new Error(`the sandbox made no intent: ${intent.kind}`);
    const confirmed = await port.confirmIntent(
      intent.intentId,
      { paymentMethod: method.paymentMethodId, offSession: true },
      { idempotencyKey: `${attemptId}:confirm` },
    );
    if (confirmed.kind !== 'succeeded') throw new Error(`the sandbox did not charge: ${confirmed.kind}`);
    cards.push({
      paymentIntentId: newId('payment_intent'),
      paymentMethodId: newId('payment_method'),
      chargeId: newId('charge'),
      processorIntentId: intent.intentId,
      processorChargeId: confirmed.chargeId,
      ...(at === null ? {} : { processorAccount: at }),
      captured: BigInt(amountCents),
    });
  }
  const session = { id: newId('checkout_session'), cards };
  checkout.paid(session);
  return session;
}

async function ask<Answer>(url: string, secretKey: string, body?: object, method?: string): Promise<Answer> {
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}`);
  return (await answer.json()) as Answer;
}
