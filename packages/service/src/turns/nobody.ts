import { accountOfNobody } from '@eligo/postgres';
import type { TurnCaller } from './turn-caller.ts';

/** On whose behalf readiness checks read: an account that does not exist. Its calls take no turn, nobody's share is smaller beside it, and its reads wait for connections with what belongs to no account. */
export const nobody = {
  accountId: accountOfNobody,
  testMode: true,
} as const satisfies TurnCaller;
