import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';

/**
 * The largest message that crosses between components: a page of 100 records, each as large as a body of 1 MiB can make it, and what stands
 * around them. A bound on mistakes of ours; what partners send is bounded where it comes in.
 */
export const maxMessageBytes = 128 * 1024 * 1024;

/** The largest message of a stream that carries calls: such a message, and small ones beside it. */
export const maxCarriedBytes = maxMessageBytes + 1024 * 1024;

/** Calls or answers that are small travel in one message of a stream up to this size. */
export const mostBytesTogether = 256 * 1024;

/** Encodes a message. Throws when a field holds what its type does not, or when it is over the limit. */
export function encodeMessage<Desc extends DescMessage>(desc: Desc, message: MessageInitShape<Desc>): Uint8Array {
  const bytes = toBinary(desc, create(desc, message));
  if (bytes.length <= maxMessageBytes) return bytes;
  throw new ConnectError(`A message of ${bytes.length} bytes exceeds the limit`, Code.ResourceExhausted);
}

export function decodeMessage<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  return fromBinary(desc, bytes);
}
