import { createHash } from 'node:crypto';

/** Whose money it is, and in which world. */
export interface ProcessorScope {
  readonly accountId: string;
  readonly testMode: boolean;
}

/**
 * The sandbox's account of an Eligo account and mode. It is computed, and the sandbox opens it at its first use, so that test
 * mode needs no onboarding; no two scopes share one, so that partners never share a balance.
 */
export function sandboxAccountOf(scope: ProcessorScope): string {
  const digest = createHash('sha256')
    .update(`${scope.testMode ? 'test' : 'live'}:${scope.accountId}`)
    .digest('hex');
  return `acct_${digest.slice(0, 24)}`;
}
