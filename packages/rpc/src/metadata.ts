/** The metadata that travels with every call, under the same names over all transports. */
export interface CallMetadata {
  readonly 'eligo-credential'?: string | undefined;
  readonly 'eligo-caller'?: string | undefined;
  readonly 'eligo-request-id'?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** The headers that a Connect transport is given with a call. */
export type TransportHeader = ConstructorParameters<typeof Headers>[0] | undefined;

/** Metadata as a transport takes it. What is not there is undefined, which the transports leave out. */
export function headerOfMetadata(metadata: CallMetadata): TransportHeader {
  return metadata as Record<string, string>;
}

/** Reads the metadata of a call from the headers that a transport was given. */
export function readMetadata(header: TransportHeader): CallMetadata {
  if (header === undefined) return {};
  if (header instanceof Headers || Array.isArray(header)) {
    const headers = header instanceof Headers ? header : new Headers(header);
    return metadataBy((name) => headers.get(name) ?? undefined);
  }
  return header as CallMetadata;
}

/** Reads the metadata of a call by name. */
export function metadataBy(get: (name: keyof CallMetadata) => string | undefined): CallMetadata {
  return {
    'eligo-credential': get('eligo-credential'),
    'eligo-caller': get('eligo-caller'),
    'eligo-request-id': get('eligo-request-id'),
    traceparent: get('traceparent'),
  };
}
