import type { Retry } from './run-confirm-crash.ts';
import { retries } from './run-confirm-crash.ts';

/** Every case with every retry; or, in the short run, every case once, the retries in turn. */
export function crossWithRetries<Case>(cases: readonly Case[], long: boolean): { crash: Case; retry: Retry }[] {
  if (long) return cases.flatMap((crash) => retries.map((retry) => ({ crash, retry })));
  return cases.map((crash, index) => ({ crash, retry: retries[index % retries.length] as Retry }));
}

/** Whether this is the long run, of the commands, and not the short one of `npm test`. */
export const isLongRun = process.env.ELIGO_TEST_LONG === 'on';
