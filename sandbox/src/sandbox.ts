import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { isIP } from 'node:net';
import { eventsOfType } from './api/events.ts';
import type { Call } from './api/route.ts';
import { openFaults } from './faults.ts';
import { type HoldLapseParts, lapseHolds, startHoldLapses } from './hold-lapses.ts';
import { sandboxApp } from './http/app.ts';
import { openBank } from './http/bank.ts';
import { createExecutor } from './http/execute.ts';
import { createWitness } from './http/witness.ts';
import { makePayouts, type PayoutParts, startPayouts } from './payouts.ts';
import { openBalances } from './store/balances.ts';
import { openDatabase } from './store/database.ts';
import { groupCommit } from './store/group-commit.ts';
import { openHolds } from './store/holds.ts';
import { openIdempotencyKeys } from './store/idempotency-keys.ts';
import { newRecordId } from './store/ids.ts';
import type { EventRecord, RecordKind, RecordOf } from './store/record-types.ts';
import { openRecords } from './store/records.ts';
import { startRetention } from './store/retention.ts';
import { type ConfiguredEndpoint, setConfiguredEndpoint } from './webhooks/configured-endpoint.ts';
import { startDeliverer } from './webhooks/deliver.ts';
import { openDeliveries } from './webhooks/deliveries.ts';
import { openSubscriptions } from './webhooks/subscriptions.ts';

export interface SandboxOptions {
  /** The directory that holds all state; made if it does not exist. One sandbox per home. */
  home: string;
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** What callers must present (`Authorization: Bearer` or Basic). */
  secretKey: string;
  /** Where the events of connected accounts go, beside the endpoints that are registered by the API. */
  events?: ConfiguredEndpoint | undefined;
  logger?: SandboxLogger;
}

/** Where the sandbox writes its lines: one per request, and one per bug. */
export interface SandboxLogger {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Sandbox {
  url: string;
  /** Answers what is running, then closes. SIGKILL is as safe. */
  stop(): Promise<void>;
}

/** Longer than any client keeps an idle connection, so that it is never the server that closes one under a request. */
const keepAliveMs = 75_000;
/** Less than the time after which whoever stops it would kill it. */
const longestGoodbyeMs = 5_000;

/** Starts a processor that speaks the part of Stripe's HTTP API that Eligo uses, on storage of its own. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const database = openDatabase(options.home);
  const records = openRecords(database.db);
  const keys = openIdempotencyKeys(database.db);
  const holds = openHolds(database.db);
  const balances = openBalances(database.db);
  const deliveries = openDeliveries(database.db);
  const { write, durable, close: closeCommits } = groupCommit(database.db, database.logFile);
  await write(() => setConfiguredEndpoint(records, database.platformAccount, options.events));
  const subscriptions = openSubscriptions(records, database.platformAccount);
  const deliverer = startDeliverer(deliveries, records, write);
  const faults = openFaults();
  const onBug = (error: unknown): void => {
    options.logger?.error(
      { error: error instanceof Error ? error.stack : String(error) },
      'Request failed with an unexpected error',
    );
  };

  function openCall(account: string, requestId: string, idempotencyKey: string | null, id: string, nowMs: number) {
    let heard = false;
    const at = Math.floor(nowMs / 1000);
    const emit = <Kind extends RecordKind>(type: string, kind: Kind, record: RecordOf<Kind>): void => {
      const event: EventRecord = {
        id: newRecordId('evt', nowMs),
        account,
        created: at,
        type,
        connected: account !== database.platformAccount,
        kind,
        snapshot: record,
        requestId,
        idempotencyKey,
      };
      records.insert('event', event, eventsOfType(account, type));
      for (const endpoint of subscriptions.endpointsFor(account, type)) {
        deliveries.add({ event: event.id, endpoint: endpoint.id, account, endpointAccount: endpoint.account }, nowMs);
        heard = true;
      }
    };
    const call: Call = {
      account,
      id,
      nowMs,
      at,
      clockMs: nowMs + database.keyClockAheadMs(),
      requestId,
      idempotencyKey,
      records,
      holds,
      balances,
      newId: (prefix) => newRecordId(prefix, nowMs),
      emit,
      endpointsChanged: subscriptions.forget,
    };
    return { call, settle: () => heard && deliverer.wake() };
  }

  const executor = createExecutor({
    write,
    durable,
    keys,
    faults,
    keyClockAheadMs: database.keyClockAheadMs,
    openCall: (request, nowMs) =>
      openCall(request.account, request.requestId, request.idempotencyKey, request.id, nowMs),
    onBug,
  });
  const acting = {
    records,
    write,
    openCall: (account: string) => openCall(account, 'sandbox', null, '', Date.now()),
  };
  const lapses: HoldLapseParts = {
    ...{ ...acting, holds },
    clockMs: () => Date.now() + database.keyClockAheadMs(),
  };
  const payouts: PayoutParts = { ...acting, balances, clockMs: lapses.clockMs };
  const bank = openBank(acting);
  const witness = createWitness({
    ...{ ...acting, faults, bank },
    async advanceClock(ms) {
      const aheadMs = database.advanceKeyClock(ms);
      await lapseHolds(lapses);
      await makePayouts(payouts);
      return aheadMs;
    },
  });
  const app = sandboxApp({
    secretKey: options.secretKey,
    platformAccount: database.platformAccount,
    executor,
    witness,
    bank,
    onBug,
    onAnswered: (line) => options.logger?.info(line, 'Request completed'),
  });
  const endRetention = startRetention({ keys, records, keyClockAheadMs: database.keyClockAheadMs }, write, onBug);
  const endLapses = startHoldLapses(lapses, onBug);
  const endPayouts = startPayouts(payouts, onBug);

  const server = createServer({ keepAliveTimeout: keepAliveMs, headersTimeout: keepAliveMs + 5_000 }, app);
  server.listen(options.port, options.host);
  await once(server, 'listening');
  let stopped: Promise<void> | undefined;
  return {
    url: urlOf(server, options.host),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };

  async function stop(): Promise<void> {
    endRetention();
    endLapses();
    endPayouts();
    executor.stop();
    await closeServer(server);
    await deliverer.stop();
    // A log that cannot be synced has failed every write already; the database is closed all the same.
    await closeCommits().finally(() => database.close());
  }
}

/** Lets what is running be answered; a connection that is kept alive is closed as soon as nothing runs on it. */
async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const sweep = setInterval(() => server.closeIdleConnections(), 20);
  const cut = setTimeout(() => server.closeAllConnections(), longestGoodbyeMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The sandbox is not listening on a port');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${address.port}`;
}
