import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { claimOrThrow, finishKey, type KeyUse, type Scope, type Tx } from '@eligo/postgres';

/**
 * Makes a record once for a key and body: the same again returns the response of the first request, another body is a new request (decisions
 * 1.1). Without a key it makes the record. The key is claimed and finished in one transaction: concurrent requests with the key wait for its end.
 */
export async function onceUnderKey<Schema extends DescMessage>(
  tx: Tx,
  scope: Scope,
  request: {
    readonly endpoint: string;
    readonly key: { readonly key: string; readonly requestHash: Uint8Array } | undefined;
    readonly schema: Schema;
  },
  make: () => Promise<MessageShape<Schema>>,
): Promise<MessageShape<Schema>> {
  const { endpoint, key, schema } = request;
  if (key === undefined) return make();
  const requestHash = Buffer.from(key.requestHash);
  const use: KeyUse = { endpoint, key: key.key, requestHash, otherRequest: 'run_as_new' };
  const claim = await claimOrThrow(tx, scope, use, claimMs);
  if (claim.outcome === 'finished') return fromBinary(schema, claim.answer.body);
  const message = await make();
  await finishKey(tx, scope, use, { status: 200, body: Buffer.from(toBinary(schema, message)) });
  return message;
}

const claimMs = 10_000;
