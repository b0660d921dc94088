import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { FailureDetailSchema } from '@eligo/proto/failure/v1/failure';

/** The failure detail of an error, encoded; undefined for an error that carries none. */
export function failureBytes(error: ConnectError): Uint8Array | undefined {
  for (const detail of error.details) {
    if ('desc' in detail && detail.desc.typeName === FailureDetailSchema.typeName) {
      return toBinary(detail.desc, create(detail.desc, detail.value));
    }
    if ('type' in detail && detail.type === FailureDetailSchema.typeName) return detail.value;
  }
  return undefined;
}

/** What crosses the wire of an error that a server answers with. */
export function wireFieldsOf(error: unknown): { code: Code; message: string; failure: Uint8Array | undefined } {
  const wire = ConnectError.from(error, Code.Internal);
  return { code: wire.code, message: wire.rawMessage, failure: failureBytes(wire) };
}

/** An error as its receiver sees it, from what crossed the wire. */
export function errorFromWire(message: string, code: Code, failure: Uint8Array | undefined): ConnectError {
  const error = new ConnectError(message, code);
  if (failure !== undefined) error.details.push({ type: FailureDetailSchema.typeName, value: failure });
  return error;
}
