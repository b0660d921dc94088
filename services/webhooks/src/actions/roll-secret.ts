import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import { newSigningSecret } from '../domain/signature.ts';
import { lockEndpoint } from '../store/endpoints.ts';
import { rollSecret as rollRow } from '../store/secrets.ts';

/** Gives the endpoint a new secret, shown this once; the old one signs beside it, first, for 24 hours (decisions 8). */
export async function rollSecret(
  { database, secrets }: Context,
  scope: Scope,
  webhookId: string,
): Promise<{ endpoint: Endpoint; signingSecret: string }> {
  const signingSecret = newSigningSecret();
  const endpoint = await withTx(database, scope, async (tx) => {
    const found = await lockEndpoint(tx, scope, webhookId);
    if (found === undefined) throw new Failure('webhook_not_found');
    await rollRow(tx, scope, webhookId, secrets.seal(scope, signingSecret));
    return found;
  });
  return { endpoint, signingSecret };
}
