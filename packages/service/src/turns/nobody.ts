import type { TurnCaller } from './turn-caller.ts';

/** On whose behalf readiness checks read: an account that does not exist. Its calls take no turn, and nobody's share is smaller beside it. */
export const nobody = {
  accountId: `facct_${'0'.repeat(26)}`,
  testMode: true,
} as const satisfies TurnCaller;
