import { allRoutes, openapi } from '@eligo/contract';
import type { ServiceContext } from '@eligo/service';
import { KeyCache } from './accounts/key-cache.ts';
import { Answers } from './answers.ts';
import { api } from './api.ts';
import { createApp } from './app.ts';
import { checkoutPage } from './checkout-page/checkout-page.ts';
import { pageCalls } from './checkout-page/page-calls.ts';
import { openPageFiles } from './checkout-page/page-files.ts';
import { PageLimits } from './checkout-page/page-limits.ts';
import type { GatewaySettings } from './config.ts';
import { Authenticator } from './http/authenticate.ts';
import { FailedAuthentications } from './http/failed-authentications.ts';
import { RateLimiter } from './http/rate-limiter.ts';
import { mount } from './mount.ts';
import { openObserver } from './observer.ts';
import { openPages } from './pages.ts';
import { openPeers } from './peers.ts';
import { peerChecks, readiness } from './readiness.ts';
import { allBindings } from './routes/index.ts';
import { createHttpServer, type HttpServer } from './server.ts';

/** The gateway, put together; its port is not open yet. */
export interface GatewayParts {
  readonly port: number;
  readonly http: HttpServer;
  readonly keys: KeyCache;
}

/** Puts the gateway together from what every component is given. */
export function buildGateway(context: ServiceContext<GatewaySettings>): GatewayParts {
  const { database, settings, metrics, logger } = context;
  const peers = openPeers((service) => context.client(service));
  const keys = new KeyCache(database, (init) => context.callerFor(init));
  const table = mount(allRoutes, allBindings(peers, new Answers(peers)), peers);
  const pages = openPages({
    openapi: () => JSON.stringify(openapi()),
    ready: readiness({ postgres: () => database.ping(), ...peerChecks(peers, (init) => context.callerFor(init)) }),
  });
  const failed = new FailedAuthentications(settings.failedAuthentications);
  const app = createApp({
    api: api({
      authenticator: new Authenticator(keys, failed, settings.trustedProxies),
      limiter: new RateLimiter(),
      table,
      settings,
      traced: context.traced,
    }),
    checkoutPage: checkoutPage({
      tokens: settings.pageTokens,
      linkTokens: settings.linkTokens,
      peers,
      calls: pageCalls({ peers, database, sandboxUrl: settings.sandboxPublicUrl }),
      files: openPageFiles(),
      limits: new PageLimits(settings.trustedProxies),
      ...{ database, sandboxUrl: settings.sandboxPublicUrl, callerFor: (init) => context.callerFor(init) },
    }),
    pages: pages.middleware,
    isPage: pages.isPage,
    observer: openObserver(metrics, logger),
  });
  return { port: settings.port, http: createHttpServer(app.callback(), settings.maxConnections), keys };
}
