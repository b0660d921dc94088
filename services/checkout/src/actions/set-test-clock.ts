import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { mirrorTestClock } from '../store/test-clocks.ts';

/** Mirrors a test clock of billing's: created, advanced or deleted. */
export async function setTestClock(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  input: { readonly testClockId: string; readonly frozenTime: Date; readonly deleted: boolean },
): Promise<void> {
  await withTx(database, scope, (tx) =>
    mirrorTestClock(tx, scope, input.testClockId, input.frozenTime, input.deleted ? clock.now() : null),
  );
}
