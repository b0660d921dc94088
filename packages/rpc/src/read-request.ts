import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { decodeMessage } from './codec.ts';

/** Decodes what a method was called with. Throws a ConnectError. */
export function readRequest(method: DescMethod, bytes: Uint8Array): Message {
  try {
    return decodeMessage(method.input, bytes);
  } catch {
    throw new ConnectError('The request cannot be decoded', Code.InvalidArgument);
  }
}
