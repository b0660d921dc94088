import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** What is known of a request by the time it is answered. */
export interface SeenRequest {
  readonly response: ServerResponse;
  /** Of the answer. */
  readonly headers: OutgoingHttpHeaders;
  readonly startedAt: number;
  /** Of the caller, if it named one. */
  readonly callersRequestId: string | undefined;
  route: string;
  processorAccountId?: string;
  recordId?: string | undefined;
  code?: string | undefined;
}

/** What the log says of a request: the names that Eligo's own components use, and nothing of its contents. */
export interface RequestLine {
  /** The caller's, by which the line is found beside those of Eligo's components; the sandbox's own where there is none. */
  readonly requestId: string;
  /** The sandbox's own, as in the answer. */
  readonly processorRequestId: string;
  readonly processorAccountId: string | undefined;
  readonly route: string;
  readonly status: number;
  readonly code: string | undefined;
  readonly durationMs: number;
  readonly recordId: string | undefined;
}

export function requestLine(seen: SeenRequest): RequestLine {
  const { headers, callersRequestId, processorAccountId, route, response, code, startedAt, recordId } = seen;
  const processorRequestId = String(headers['Request-Id']);
  return {
    requestId: callersRequestId ?? processorRequestId,
    processorRequestId,
    processorAccountId,
    route,
    // 0: the caller left before it was answered, or a fault cut the connection.
    status: response.headersSent ? response.statusCode : 0,
    code,
    durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
    recordId,
  };
}

// What a log line may hold, whoever sends it.
const requestIdSyntax = /^[\w.:-]{1,128}$/;

/** The request id that a caller names in `Eligo-Request-Id`. */
export function readCallersRequestId(header: string): string | undefined {
  return requestIdSyntax.test(header) ? header : undefined;
}

/** The code of a refusal: the bank's, where there is one. */
export function codeOf(body: string): string | undefined {
  const { error } = JSON.parse(body) as { error?: { code?: string; decline_code?: string; type?: string } };
  return error?.decline_code ?? error?.code ?? error?.type;
}
