import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import { checkReadiness, type Readiness, type ReadinessChecks } from '@eligo/service';
import { newId } from '@eligo/values';
import type { Peers } from './peers.ts';

/** The page is public, so it checks the peers at most once a second, however many clients ask. */
const freshMs = 1_000;

/** Whether everything that the gateway needs answers. */
export function readiness(checks: ReadinessChecks): () => Promise<Readiness> {
  let asked: Promise<Readiness> | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (asked === undefined || nowMs - askedAtMs > freshMs) {
      asked = checkReadiness(checks);
      askedAtMs = nowMs;
    }
    return asked;
  };
}

/** One read of each peer, for an account that does not exist: it finds nothing and shows that the whole way there works. */
export function peerChecks(peers: Peers, sign: (init: CallerInit) => CallerContext): ReadinessChecks {
  const nobody = { accountId: newId('account'), testMode: true };
  const page = { limit: 1n };
  const call = () => ({ caller: sign(nobody), timeoutMs: 1_000 });
  return {
    catalog: async () => void (await peers.catalog.listShippingRates({ page }, call())),
    checkout: async () => void (await peers.checkout.listCharges({ page }, call())),
    billing: async () => void (await peers.billing.listInvoices({ page }, call())),
    refunds: async () => void (await peers.refunds.listRefunds({ page }, call())),
    webhooks: async () => void (await peers.webhooks.listEndpoints({ page }, call())),
  };
}
