/** The metadata that travels with every call, under the same names over all transports. */
export const metadataNames = {
  credential: 'eligo-credential',
  caller: 'eligo-caller',
  requestId: 'eligo-request-id',
  traceparent: 'traceparent',
} as const;

/** The metadata of one call, read. */
export interface CallMetadata {
  readonly credential?: string | undefined;
  readonly caller?: string | undefined;
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** The headers that a Connect transport is given with a call. */
export type TransportHeader = ConstructorParameters<typeof Headers>[0] | undefined;

/** Reads the metadata of a call from the headers that a Connect transport was given. */
export function readMetadata(header: TransportHeader): CallMetadata {
  if (header === undefined) return {};
  if (header instanceof Headers || Array.isArray(header)) {
    const headers = header instanceof Headers ? header : new Headers(header);
    return metadataBy((name) => headers.get(name) ?? undefined);
  }
  const record = header as Readonly<Record<string, string | undefined>>;
  return metadataBy((name) => record[name]);
}

/** Reads the metadata of a call by name. */
export function metadataBy(get: (name: string) => string | undefined): CallMetadata {
  return {
    credential: get(metadataNames.credential),
    caller: get(metadataNames.caller),
    requestId: get(metadataNames.requestId),
    traceparent: get(metadataNames.traceparent),
  };
}
