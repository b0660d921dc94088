import { readinessAccountId } from '@eligo/postgres';
import type { TurnCaller } from './turn-caller.ts';

/** The caller of readiness reads: an account that does not exist. Its calls take no turn and count for no account. */
export const readinessCaller = {
  accountId: readinessAccountId,
  testMode: true,
} as const satisfies TurnCaller;
