import type { DescMethod } from '@bufbuild/protobuf';

/** The trailer that carries a failure's detail; gRPC takes a name that ends in -bin for bytes. */
export const failureTrailer = 'eligo-failure-bin';

/** The path of a method in gRPC. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Bytes as grpc-js wants them, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The serializer of a channel that is handed bytes. */
export function asBytes(bytes: Buffer): Buffer {
  return bytes;
}
