import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Endpoint, endpointEvents, endpointUrl, mostEndpoints } from '../domain/endpoint.ts';
import { newSigningSecret } from '../domain/signature.ts';
import { countEndpoints, insertEndpoint } from '../store/endpoints.ts';
import { insertLane } from '../store/lanes.ts';
import { insertFirstSecret } from '../store/secrets.ts';

/**
 * Registers an endpoint, enabled from now on, and makes its signing secret, which is shown this once. Two may have one URL (decisions 13). An
 * account that has `mostEndpoints` is refused another; of several that are made at once the last few may still get in.
 */
export async function createEndpoint(
  { database, clock, rules, secrets }: Context,
  scope: Scope,
  wanted: { url: string; events: readonly string[] },
): Promise<{ endpoint: Endpoint; signingSecret: string }> {
  const endpoint: Endpoint = {
    webhookId: newId('webhook_endpoint'),
    url: endpointUrl(wanted.url, rules),
    events: endpointEvents(wanted.events),
    status: 'enabled',
    testMode: scope.testMode,
    createdAt: clock.now(),
  };
  const signingSecret = newSigningSecret();
  await withTx(database, scope, async (tx) => {
    if ((await countEndpoints(tx, scope, mostEndpoints)) >= mostEndpoints) {
      throw new Failure('conflict', {
        detail: `The account already has the maximum of ${mostEndpoints} webhook endpoints. Delete one first.`,
      });
    }
    await Promise.all([
      insertEndpoint(tx, scope, endpoint),
      insertLane(tx, scope, endpoint.webhookId),
      insertFirstSecret(tx, scope, endpoint.webhookId, secrets.seal(scope, signingSecret)),
    ]);
  });
  return { endpoint, signingSecret };
}
