import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import { exhaustDeliveries } from '../store/deliveries.ts';
import { deleteEndpoint as deleteRow, lockEndpoint } from '../store/endpoints.ts';
import { deleteSecrets } from '../store/secrets.ts';

/** Deletes an endpoint with its secrets: nothing more is sent to it. Answers what it was. */
export function deleteEndpoint({ database, clock }: Context, scope: Scope, webhookId: string): Promise<Endpoint> {
  return withTx(database, scope, async (tx) => {
    const endpoint = await lockEndpoint(tx, scope, webhookId);
    if (endpoint === undefined) throw new Failure('webhook_not_found');
    await Promise.all([
      deleteRow(tx, scope, webhookId, clock.now()),
      deleteSecrets(tx, scope, webhookId),
      exhaustDeliveries(tx, scope, webhookId, 'the endpoint was deleted'),
    ]);
    return { ...endpoint, status: 'disabled' };
  });
}
