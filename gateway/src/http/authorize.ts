import type { Route } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { ActiveKey } from '../accounts/key-cache.ts';

/** Refuses a key that lacks the route's scope, a live key on a test helper, and what has been removed. */
export function authorize(key: ActiveKey, route: Route, deprecatedEndpoints: boolean): void {
  assertScope(key, route.scope);
  if (route.testOnly && !key.testMode) throw new Failure('test_mode_required');
  if (route.deprecation !== undefined && !deprecatedEndpoints) throw new Failure('endpoint_removed');
}

/** Refuses a key that lacks a scope. */
export function assertScope(key: Pick<ActiveKey, 'allowed'>, scope: string): void {
  if (hasScope(key, scope)) return;
  throw new Failure('insufficient_scope', { detail: `The API key does not have the scope ${scope}.` });
}

/** Whether a key has a scope. One without a list has all (decisions 2.2). */
export function hasScope({ allowed }: Pick<ActiveKey, 'allowed'>, scope: string): boolean {
  return allowed === undefined || allowed.has(scope);
}
