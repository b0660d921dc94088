import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type Endpoint, endpointEvents, endpointUrl } from '../domain/endpoint.ts';
import { lockEndpoint, updateEndpoint as updateRow } from '../store/endpoints.ts';

/** Changes what is given; a disabled endpoint is enabled again by any update (decisions 13). */
export function updateEndpoint(
  { database, rules }: Context,
  scope: Scope,
  webhookId: string,
  change: { url?: string | undefined; events?: readonly string[] | undefined },
): Promise<Endpoint> {
  return withTx(database, scope, async (tx) => {
    const endpoint = await lockEndpoint(tx, scope, webhookId);
    if (endpoint === undefined) throw new Failure('webhook_not_found');
    const url = change.url === undefined ? endpoint.url : endpointUrl(change.url, rules);
    const events = change.events === undefined ? endpoint.events : endpointEvents(change.events);
    const updated = await updateRow(tx, scope, webhookId, { url, events });
    if (updated === undefined) throw new Error('A locked endpoint disappeared');
    return updated;
  });
}
