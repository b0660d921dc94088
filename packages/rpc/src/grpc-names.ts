import type { DescMethod } from '@bufbuild/protobuf';
import { CallCarrierService } from '@eligo/proto/calls/v1/calls';

/** The trailer that carries a failure's detail; gRPC takes a name that ends in -bin for bytes. */
export const failureTrailer = 'eligo-failure-bin';

/** The header by which a call that goes alone asks for how long it is worked on, and the trailer that says so, in microseconds. */
export const measuredHeader = 'eligo-measured';
export const workedTrailer = 'eligo-worked-us';

/** The path of a method in gRPC. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The path of the streams that carry calls. */
export const carryPath = pathOf(CallCarrierService.method.carry);

/** Bytes as grpc-js wants them, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The serializer of a channel that is handed bytes. */
export function asBytes(bytes: Buffer): Buffer {
  return bytes;
}
