import type { Route } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { ActiveKey } from '../accounts/key-cache.ts';

/** Refuses a key that lacks the route's scope, a live key on a test helper, and what has been removed. */
export function authorize(key: ActiveKey, route: Route, deprecatedEndpoints: boolean): void {
  if (!hasScope(key, route.scope)) {
    throw new Failure('insufficient_scope', { detail: `The API key does not have the scope ${route.scope}.` });
  }
  if (route.testOnly && !key.testMode) throw new Failure('test_mode_required');
  if (route.deprecation !== undefined && !deprecatedEndpoints) throw new Failure('endpoint_removed');
}

/** Whether a key has a scope. One without a list has all (decisions 2.2). */
export function hasScope({ allowed }: Pick<ActiveKey, 'allowed'>, scope: string): boolean {
  return allowed === undefined || allowed.has(scope);
}
