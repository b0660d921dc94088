import { within } from '@eligo/values';

/** What a component needs to be of use; each check rejects, or stays silent too long, when it is not there. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** What a check that fails rejects with to have its reason told on the admin port: plain words, without secrets. */
export class NotReady extends Error {
  override readonly name = 'NotReady';
}

/**
 * Whether a component can serve, and which checks failed. A degraded one serves: another replica would be no better, and taking all of them away
 * would refuse what still works.
 */
export interface Readiness {
  readonly ready: boolean;
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
  /** Why a check failed, where that is known. For operators: the public port leaves it out. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/** A check that has not answered by then has failed: probes wait only seconds. */
const checkTimeoutMs = 1_500;

/** Runs all the checks at once. A component cannot serve without what is `needed`, and is degraded without what is `wanted`. */
export async function checkReadiness(needed: ReadinessChecks, wanted: ReadinessChecks = {}): Promise<Readiness> {
  const [serves, helps] = await Promise.all([outcomesOf(needed), outcomesOf(wanted)]);
  const isWell = (outcomes: readonly Outcome[]) => outcomes.every(({ isOk }) => isOk);
  const ready = isWell(serves);
  const all = [...serves, ...helps];
  const reasons = Object.fromEntries(
    all.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason] as const])),
  );
  return {
    ready,
    status: !ready ? 'unavailable' : isWell(helps) ? 'ok' : 'degraded',
    checks: Object.fromEntries(all.map(({ name, isOk }) => [name, isOk ? 'ok' : 'failed'] as const)),
    ...(Object.keys(reasons).length === 0 ? {} : { reasons }),
  };
}

interface Outcome {
  readonly name: string;
  readonly isOk: boolean;
  readonly reason?: string;
}

function outcomesOf(checks: ReadinessChecks): Promise<Outcome[]> {
  return Promise.all(
    Object.entries(checks).map(([name, check]) =>
      within(checkTimeoutMs, check).then(
        () => ({ name, isOk: true }),
        (error: unknown) => ({ name, isOk: false, ...(error instanceof NotReady ? { reason: error.message } : {}) }),
      ),
    ),
  );
}
