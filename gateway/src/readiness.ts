import { Code, ConnectError } from '@connectrpc/connect';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { Health, HealthService } from '@eligo/proto/health/v1/health';
import type { CallerInit, Client } from '@eligo/rpc';
import { NotReady, type Readiness, type ReadinessChecks, readinessCaller, ServesDegraded } from '@eligo/service';
import type { Peers } from './peers.ts';

/** The page is public, so it checks at most once a second, however many clients ask. */
const freshMs = 1_000;

/** What the public page says: the gateway's own readiness, as on its admin port, at most a second old. */
export function sharedReadiness(check: () => Promise<Readiness>): () => Promise<Readiness> {
  let asked: Promise<Readiness> | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (asked === undefined || nowMs - askedAtMs > freshMs) {
      asked = check();
      askedAtMs = nowMs;
    }
    return asked;
  };
}

/**
 * The services behind the gateway. Without one of them the gateway still serves the routes of the others, so it is degraded: were it not ready, load
 * balancers would take every gateway away. It cannot serve when none responds.
 */
export function peerChecks(
  peers: Peers,
  sign: (init: CallerInit) => CallerContext,
  healthOf: (name: string) => Client<typeof HealthService>,
): { needed: ReadinessChecks; wanted: ReadinessChecks } {
  const wanted = readsOf(peers, sign);
  // A round of checks asks both lists at the same time: the calls are made once.
  const started = new Map<string, Promise<void>>();
  const once = (name: string, read: () => Promise<void>) => {
    const running = started.get(name) ?? read().finally(() => started.delete(name));
    started.set(name, running);
    return running;
  };
  const shared = Object.entries(wanted).map(([name, read]) => [name, () => once(name, read)] as const);
  return {
    needed: { services: () => Promise.any(shared.map(([, read]) => read())) },
    wanted: Object.fromEntries(shared.map(([name, read]) => [name, readsAndIsWell(read, healthOf(name))])),
  };
}

// It may answer a read and be no use all the same: pending migrations, another keyring, events that do not get through.
function readsAndIsWell(read: () => Promise<void>, health: Client<typeof HealthService>): () => Promise<void> {
  return async () => {
    const [told] = await Promise.all([
      health.check({}, { timeoutMs: healthTimeoutMs }).catch(ofEarlierRelease),
      read(),
    ]);
    if (told === undefined || told.status === 'ok' || isDraining(told)) return;
    const reason = `${told.status}: ${told.failedChecks.join(', ')}`;
    throw told.status === 'unavailable' ? new NotReady(reason) : new ServesDegraded(reason);
  };
}

// A replica that stops serves on, and the next call goes to another one.
function isDraining({ failedChecks }: Pick<Health, 'failedChecks'>): boolean {
  return failedChecks.length > 0 && failedChecks.every((check) => check === 'stopping');
}

// Within that of a check. The checks of the service take a second where a server is silent.
const healthTimeoutMs = 1_400;

// It has its reads alone to tell.
function ofEarlierRelease(error: unknown): undefined {
  if (!(error instanceof ConnectError) || error.code !== Code.Unimplemented) throw error;
}

// One read of each peer, for an account that does not exist: it finds nothing and shows that the whole way there works.
function readsOf(peers: Peers, sign: (init: CallerInit) => CallerContext): ReadinessChecks {
  const page = { limit: 1n };
  const call = () => ({ caller: sign(readinessCaller), timeoutMs: 1_000 });
  return {
    catalog: async () => void (await peers.catalog.listShippingRates({ page }, call())),
    checkout: async () => void (await peers.checkout.listCharges({ page }, call())),
    billing: async () => void (await peers.billing.listInvoices({ page }, call())),
    refunds: async () => void (await peers.refunds.listRefunds({ page }, call())),
    webhooks: async () => void (await peers.webhooks.listEndpoints({ page }, call())),
  };
}
