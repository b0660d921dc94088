import { type StateTable, stateTable } from '@eligo/values';

export type SessionStatus = 'open' | 'paid' | 'complete' | 'canceled' | 'expired';

/**
 * decisions 7: open → complete (paid in full and captured, set up, or confirmed), open → paid (authorized, or a letter is pending) → complete,
 * open → expired, open or paid → canceled. Beside these, a new version of the split alone makes a paid session open again (`store/split-versions.ts`). The trigger `guard_session` holds the same table; a test tries every pair in both.
 */
export const sessionStates: StateTable<SessionStatus> = stateTable<SessionStatus>({
  open: ['paid', 'complete', 'canceled', 'expired'],
  paid: ['complete', 'canceled'],
  complete: [],
  canceled: [],
  expired: [],
});
