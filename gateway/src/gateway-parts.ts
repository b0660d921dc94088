import { allRoutes, openapi } from '@eligo/contract';
import type { BuiltService, Readiness, ServiceContext } from '@eligo/service';
import { accountsOfPages } from './accounts/find-account-of-page.ts';
import { KeyCache } from './accounts/key-cache.ts';
import { tellings } from './accounts/tellings.ts';
import { Answers } from './answers.ts';
import { api } from './api.ts';
import { createApp } from './app.ts';
import { checkoutPageRoutes } from './checkout-page/checkout-page.ts';
import { invoicePageCalls } from './checkout-page/invoice-page-calls.ts';
import { pageCalls } from './checkout-page/page-calls.ts';
import { openPageFiles } from './checkout-page/page-files.ts';
import { PageLimits } from './checkout-page/page-limits.ts';
import type { GatewaySettings } from './config.ts';
import type { ContentStores } from './files/content-stores.ts';
import { fileStores } from './files/file-stores.ts';
import { Transfers } from './files/transfers.ts';
import { Authenticator } from './http/authenticate.ts';
import { BodyBudget } from './http/body-budget.ts';
import { FailedAuthentications } from './http/failed-authentications.ts';
import { publicRouter } from './http/public-router.ts';
import { RateLimiter } from './http/rate-limiter.ts';
import { mount } from './mount.ts';
import { openObserver } from './observer.ts';
import { pageRoutes } from './pages.ts';
import { openPeers } from './peers.ts';
import { eventSources } from './processor-events/event-sources.ts';
import { processorEventRoute } from './processor-events/processor-events.ts';
import { peerChecks, sharedReadiness } from './readiness.ts';
import { readInvoiceDocument } from './reports/read-invoice-document.ts';
import { allBindings } from './routes/index.ts';
import { createHttpServer, type HttpServer } from './server.ts';
import { pacedStores } from './turns/paced-stores.ts';
import { RequestTurns } from './turns/request-turns.ts';

/** The gateway, put together; its port is not open yet. */
export interface GatewayParts {
  readonly port: number;
  readonly http: HttpServer;
  readonly keys: KeyCache;
  readonly stores: ContentStores;
  /** What the gateway needs beside its database, and what it is degraded without. */
  readonly checks: Pick<BuiltService, 'ready' | 'wanted'>;
  /** Has the public port say how ready the component is; until then it is not. */
  tellReadiness(ready: () => Promise<Readiness>): void;
  /** Has the public port say that the gateway is not ready, and serve on. */
  leave(): void;
}

/** Puts the gateway together from what every component is given. */
export function buildGateway(context: ServiceContext<GatewaySettings>): GatewayParts {
  const { database, settings, metrics, logger } = context;
  const peers = openPeers((service) => context.client(service));
  const keys = new KeyCache(
    database,
    settings.rateLimit,
    (init) => context.callerFor(init),
    () => {
      for (const { job } of tellings) context.wake(job);
    },
  );
  const stores = fileStores(context);
  const turns = new RequestTurns();
  const files = {
    ...{ database, stores: pacedStores(stores, { ...turns.here, parts: turns.parts }), scanner: settings.fileScanner },
    ...{ transfers: new Transfers(), assertRoom: context.assertRoom },
  };
  const bodies = new BodyBudget();
  const readInvoice = readInvoiceDocument({ peers, database });
  const bindings = allBindings(peers, new Answers(peers), files, readInvoice);
  const table = mount(allRoutes, bindings, peers, bodies);
  const { needed, wanted } = peerChecks(
    peers,
    (init) => context.callerFor(init),
    (name) => context.health(name),
  );
  let readiness = () => Promise.resolve(notServing);
  const pages = pageRoutes({
    openapi: () => JSON.stringify(openapi()),
    ready: () => readiness(),
  });
  const failed = new FailedAuthentications(settings.failedAuthentications);
  const shopper = checkoutPageRoutes({
    tokens: settings.pageTokens,
    linkTokens: settings.linkTokens,
    invoiceTokens: settings.invoiceTokens,
    readInvoice,
    peers,
    calls: pageCalls({ peers, sandboxUrl: settings.sandboxPublicUrl, logger }),
    invoiceCalls: invoicePageCalls({ peers, sandboxUrl: settings.sandboxPublicUrl }),
    files: openPageFiles(),
    limits: new PageLimits(settings.trustedProxies),
    ...{ bodies, turns },
    accountOf: accountsOfPages(database),
    ...{ sandboxUrl: settings.sandboxPublicUrl, callerFor: (init) => context.callerFor(init) },
  });
  const events = processorEventRoute({
    sources: eventSources(settings.events, database, async (processorAccount) => {
      const asked = { processor: 'stripe', processorAccount };
      return (await peers.refunds.findAccountsAtProcessor(asked, { timeoutMs: formerAccountMs })).accounts;
    }),
    bodies: new BodyBudget({ totalBytes: processorEventBytes }),
    ...{ peers, failed, proxies: settings.trustedProxies, metrics, logger },
    callerFor: (init) => context.callerFor(init),
  });
  const app = createApp({
    api: api({
      authenticator: new Authenticator(keys, failed, settings.trustedProxies),
      limiter: new RateLimiter(),
      turns,
      table,
      settings,
      traced: context.traced,
    }),
    publicRoutes: publicRouter([...pages, ...shopper, events]),
    observer: openObserver(metrics, logger),
  });
  return {
    port: settings.port,
    http: createHttpServer(app.callback(), {
      total: settings.maxConnections,
      perNetwork: settings.maxConnectionsPerAddress,
      isProxy: (address) => settings.trustedProxies.isTrusted(address),
    }),
    keys,
    stores,
    checks: { ready: needed, wanted },
    tellReadiness(ready) {
      readiness = sharedReadiness(ready);
    },
    leave() {
      readiness = () => Promise.resolve(notServing);
    },
  };
}

// The processor waits for ten seconds or so, and storing the event takes its part.
const formerAccountMs = 2_000;
// Events of processors have a few kilobytes.
const processorEventBytes = 8 * 1024 * 1024;

const notServing: Readiness = { ready: false, status: 'unavailable', checks: { stopping: 'failed' } };
