import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { claimOrThrow, type Db, findKey, finishKey, type KeyUse, type Scope, type Tx } from '@eligo/postgres';

/** A request under a key, and the message that answers it. */
export interface KeyedRequest<Schema extends DescMessage> {
  readonly endpoint: string;
  readonly key: { readonly key: string; readonly requestHash: Uint8Array } | undefined;
  readonly schema: Schema;
}

/**
 * The response that is stored under the request's key, if there is one. For a request that asks other services before its transaction: a replay must not
 * fail because of them.
 */
export async function storedResponse<Schema extends DescMessage>(
  db: Db,
  scope: Scope,
  { endpoint, key, schema }: KeyedRequest<Schema>,
): Promise<MessageShape<Schema> | undefined> {
  if (key === undefined) return undefined;
  const found = await findKey(db, scope, keyUse(endpoint, key));
  return found?.outcome === 'finished' ? fromBinary(schema, found.answer.body) : undefined;
}

/**
 * Makes a record once for a key and body: the same again returns the response of the first request, another body is a new request (decisions
 * 1.1). Without a key it makes the record. The key is claimed and finished in one transaction: concurrent requests with the key wait for its end.
 */
export async function onceUnderKey<Schema extends DescMessage>(
  tx: Tx,
  scope: Scope,
  request: KeyedRequest<Schema>,
  make: () => Promise<MessageShape<Schema>>,
): Promise<MessageShape<Schema>> {
  const { endpoint, key, schema } = request;
  if (key === undefined) return make();
  const use = keyUse(endpoint, key);
  const claim = await claimOrThrow(tx, scope, use, claimMs);
  if (claim.outcome === 'finished') return fromBinary(schema, claim.answer.body);
  const message = await make();
  await finishKey(tx, scope, use, { status: 200, body: Buffer.from(toBinary(schema, message)) });
  return message;
}

function keyUse(endpoint: string, { key, requestHash }: { key: string; requestHash: Uint8Array }): KeyUse {
  return { endpoint, key, requestHash: Buffer.from(requestHash), otherRequest: 'run_as_new' };
}

const claimMs = 10_000;
