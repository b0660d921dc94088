/** What a component needs to be of use; each check rejects, or stays silent too long, when it is not there. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** Whether a component is ready, and if not, which checks say so. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

/** A check that has not answered by then has failed: probes wait only seconds. */
const checkTimeoutMs = 1_500;

/** Runs all the checks at once. */
export async function checkReadiness(checks: ReadinessChecks): Promise<Readiness> {
  const names = Object.keys(checks);
  const results = await Promise.allSettled(Object.values(checks).map((check) => within(checkTimeoutMs, check)));
  const outcome = results.map(({ status }) => (status === 'fulfilled' ? 'ok' : 'failed') as 'ok' | 'failed');
  return {
    ready: outcome.every((one) => one === 'ok'),
    checks: Object.fromEntries(names.map((name, at) => [name, outcome[at] ?? 'failed'])),
  };
}

/** Rejects when `work` takes longer than `ms`. Its later outcome is ignored. */
export async function within<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
