import type { Neighborhood } from './measure-neighbors.ts';

/** What an account keeps beside any other one. */
export const goal = {
  /** Of its confirms. */
  kept: 0.7,
  /** Times the 99th percentile without an attack. */
  slowdown: 3,
  /** Of the processor time of Postgres. No budget counts it: the numbers of requests and of parts at work bound what an attack takes. */
  ofPostgres: 0.5,
  /** Webhooks arrive within a second of their responses (decisions 14.64). */
  deliveriesMs: 1_000,
};

/**
 * What of the goal is missed, in words. The confirms themselves count where Eligo's processes hardly waited for a processor, beside the attack and without it. Where they did, other programs
 * cost confirms, too: then the confirms' part of the processor time will do.
 */
export function missesOf(found: Neighborhood, least: number = goal.kept): string[] {
  const { keptShare, keptOfProcessor = 0, keptOfPostgres = 1, slowdown } = found;
  const isBusy = waitsMuch(found.waitsMsPerSecond) || waitsMuch(found.waitsAloneMsPerSecond);
  const kept = isBusy ? Math.max(keptShare, keptOfProcessor) : keptShare;
  const { readsMs = 0, readsAloneMs = 0, deliveriesMs = 0, deliveriesAloneMs = 0 } = found;
  return [
    ...(kept < least ? [`kept ${kept.toFixed(2)} of ${isBusy ? 'the processor' : 'the confirms'}`] : []),
    ...(slowdown > goal.slowdown ? [`p99 ${slowdown.toFixed(1)} times as long`] : []),
    ...(keptOfPostgres < goal.ofPostgres ? [`kept ${keptOfPostgres.toFixed(2)} of Postgres`] : []),
    ...(readsMs > Math.max(goal.slowdown * readsAloneMs, goal.deliveriesMs)
      ? [`reads took ${Math.round(readsMs)} ms`]
      : []),
    ...(deliveriesMs > Math.max(goal.slowdown * deliveriesAloneMs, goal.deliveriesMs)
      ? [`deliveries took ${Math.round(deliveriesMs)} ms`]
      : []),
  ].map((miss) => `${found.attack}: ${miss}`);
}

function waitsMuch(msPerSecond: number | undefined): boolean {
  return msPerSecond !== undefined && msPerSecond > fewWaitsMs;
}

const fewWaitsMs = 150;
