import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';

/** The largest message that crosses between components. A page of 100 records is far below it. */
export const maxMessageBytes = 4 * 1024 * 1024;

/** Encodes a message. Throws when a field holds what its type does not, or when it is over the limit. */
export function encodeMessage<Desc extends DescMessage>(desc: Desc, message: MessageInitShape<Desc>): Uint8Array {
  const bytes = toBinary(desc, create(desc, message));
  if (bytes.length <= maxMessageBytes) return bytes;
  throw new ConnectError(`a message of ${bytes.length} bytes is over the limit`, Code.ResourceExhausted);
}

export function decodeMessage<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  return fromBinary(desc, bytes);
}
