import { within } from '@eligo/values';

/** What a component needs to be of use; each check rejects, or stays silent too long, when it is not there. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** What a check that fails rejects with to have its reason told on the admin port: plain words, without secrets. */
export class NotReady extends Error {
  override readonly name = 'NotReady';
}

/** What a check rejects with when what it looks at serves, and is itself degraded: whoever watches that is told there. The reason is told as that of `NotReady`. */
export class ServesDegraded extends Error {
  override readonly name = 'ServesDegraded';
}

/**
 * Whether a component can serve, and which checks failed. A degraded one serves: another replica would be no better, and taking all of them away
 * would refuse what still works.
 */
export interface Readiness {
  readonly ready: boolean;
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: Readonly<Record<string, 'ok' | 'degraded' | 'failed'>>;
  /** Why a check is not ok, where that is known. For operators: the public port leaves it out. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/** A check that has not answered by then has failed: probes wait only seconds. */
const checkTimeoutMs = 1_500;

/** Runs all the checks at once. A component cannot serve without what is `needed`, and is degraded without what is `wanted`. */
export async function checkReadiness(needed: ReadinessChecks, wanted: ReadinessChecks = {}): Promise<Readiness> {
  const [serves, helps] = await Promise.all([outcomesOf(needed), outcomesOf(wanted)]);
  const isWell = (outcomes: readonly Outcome[]) => outcomes.every(({ state }) => state === 'ok');
  const ready = serves.every(({ state }) => state !== 'failed');
  const all = [...serves, ...helps];
  const reasons = Object.fromEntries(
    all.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason] as const])),
  );
  return {
    ready,
    status: !ready ? 'unavailable' : isWell(all) ? 'ok' : 'degraded',
    checks: Object.fromEntries(all.map(({ name, state }) => [name, state] as const)),
    ...(Object.keys(reasons).length === 0 ? {} : { reasons }),
  };
}

interface Outcome {
  readonly name: string;
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly reason?: string;
}

function outcomesOf(checks: ReadinessChecks): Promise<Outcome[]> {
  return Promise.all(
    Object.entries(checks).map(([name, check]) =>
      within(checkTimeoutMs, check).then(
        () => ({ name, state: 'ok' as const }),
        (error: unknown) => {
          if (error instanceof ServesDegraded) return { name, state: 'degraded' as const, reason: error.message };
          return { name, state: 'failed' as const, ...(error instanceof NotReady ? { reason: error.message } : {}) };
        },
      ),
    ),
  );
}
