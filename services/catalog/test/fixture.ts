import type { Database } from '@eligo/postgres';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import {
  type CallerInit,
  type CallOptions,
  type Client,
  client,
  generateComponentKeys,
  inProcessTransport,
  openIdentity,
  rpcServer,
} from '@eligo/rpc';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { openContext } from '../src/context.ts';
import { catalogHandlers } from '../src/rpc/handlers.ts';
import { catalogService } from '../src/service.ts';

/** The catalog on a database of its own, called as the gateway, checkout and billing over the encoding in-process transport. */
export interface Fixture {
  readonly gateway: Client<typeof CatalogService>;
  readonly checkout: Client<typeof CatalogService>;
  readonly billing: Client<typeof CatalogService>;
  readonly database: Database;
  readonly place: TestDatabase;
  readonly clock: { now(): Date; set(time: Date | undefined): void };
  /** A new account's call options, in test mode unless said otherwise. */
  account(init?: Partial<CallerInit>): Shop;
  close(): Promise<void>;
}

/** An account's call options for the gateway, for checkout, and for billing. */
export interface Shop extends CallOptions {
  readonly accountId: string;
  readonly atBilling: CallOptions;
  readonly atCheckout: CallOptions;
}

/** With more connections where a test is about what happens at once: each is a transaction of its own in Postgres. */
export interface FixtureOptions {
  readonly connections?: number;
  /** A database of its own unless given. */
  readonly place?: TestDatabase;
  readonly statementTimeoutMs?: number;
}

export async function openFixture({ connections = 10, ...given }: FixtureOptions = {}): Promise<Fixture> {
  const { place = await testDatabase(catalogService), ...pool } = given;
  const waits = { connectionWaitMs: 20_000, lockTimeoutMs: 20_000 };
  const database = place.open('catalog', { max: connections, ...waits, ...pool });
  const keys = generateComponentKeys(['gateway', 'checkout', 'billing', 'catalog']);
  const identityOf = (name: string) =>
    openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
  const gateway = identityOf('gateway');
  const checkout = identityOf('checkout');
  const billing = identityOf('billing');
  let fixed: Date | undefined;
  const clock = {
    now: () => fixed ?? new Date(),
    set(time: Date | undefined) {
      fixed = time;
    },
  };
  const server = rpcServer({
    identity: identityOf('catalog'),
    handlers: catalogHandlers(openContext({ database, clock })),
  });
  const transport = inProcessTransport(server, { encode: true });
  return {
    gateway: client(CatalogService, transport, gateway),
    checkout: client(CatalogService, transport, checkout),
    billing: client(CatalogService, transport, billing),
    database,
    place,
    clock,
    account(init = {}) {
      const accountId = init.accountId ?? newId('account');
      const whole = { testMode: true, ...init, accountId };
      // What is tested is never how fast a busy machine answers.
      const timeoutMs = 30_000;
      return {
        ...{ accountId, timeoutMs, caller: gateway.callerFor(whole) },
        atCheckout: { timeoutMs, caller: checkout.callerFor(whole) },
        atBilling: { timeoutMs, caller: billing.callerFor(whole) },
      };
    },
    close: () => place.drop(),
  };
}

/** The code of the refusal that a promise ends in, or the types of its violations. */
export async function refusalOf(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    () => 'no refusal',
    (error: unknown) => error,
  );
  if (typeof outcome !== 'object' || outcome === null || !('code' in outcome)) return outcome;
  if ('violations' in outcome && Array.isArray(outcome.violations)) {
    return outcome.violations.map(({ loc, type }) => [loc.join('.'), type]);
  }
  return outcome.code;
}
