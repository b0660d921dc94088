import type { Retry } from './run-confirm-crash.ts';
import { retries } from './run-confirm-crash.ts';

/** Every case with every retry; or, in the short run, every case once, the retries in turn. */
export function crossWithRetries<Case>(cases: readonly Case[], long: boolean): { crash: Case; retry: Retry }[] {
  return crossWith(cases, retries, long);
}

/** The same with what else is done after the crash. */
export function crossWith<Case, After>(
  cases: readonly Case[],
  afterwards: readonly After[],
  long: boolean,
): { crash: Case; retry: After }[] {
  if (long) return cases.flatMap((crash) => afterwards.map((retry) => ({ crash, retry })));
  return cases.map((crash, index) => ({ crash, retry: afterwards[index % afterwards.length] as After }));
}

/** Failpoints that are passed so many times: each of its passes is one place to die at. */
export function eachPass(passes: Readonly<Record<string, number>>): { failpoint: string; skip: number }[] {
  return Object.entries(passes).flatMap(([failpoint, times]) =>
    Array.from({ length: times }, (_, skip) => ({ failpoint, skip })),
  );
}

/** Whether this is the long run, of the commands, and not the short one of `npm test`. */
export const isLongRun = process.env.ELIGO_TEST_LONG === 'on';
