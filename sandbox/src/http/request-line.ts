import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** What is known of a request by the time it is answered. */
export interface SeenRequest {
  readonly response: ServerResponse;
  /** Of the answer. */
  readonly headers: OutgoingHttpHeaders;
  readonly startedAt: number;
  route: string;
  processorAccountId?: string;
  recordId?: string | undefined;
  code?: string | undefined;
}

/** What the log says of a request: the names that Eligo's own components use, and nothing of its contents. */
export interface RequestLine {
  readonly requestId: string;
  readonly processorAccountId: string | undefined;
  readonly route: string;
  readonly status: number;
  readonly code: string | undefined;
  readonly durationMs: number;
  readonly recordId: string | undefined;
}

export function requestLine(seen: SeenRequest): RequestLine {
  const { headers, processorAccountId, route, response, code, startedAt, recordId } = seen;
  return {
    requestId: String(headers['Request-Id']),
    processorAccountId,
    route,
    // 0: the caller left before it was answered, or a fault cut the connection.
    status: response.headersSent ? response.statusCode : 0,
    code,
    durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
    recordId,
  };
}

/** The code of a refusal: the bank's, where there is one. */
export function codeOf(body: string): string | undefined {
  const { error } = JSON.parse(body) as { error?: { code?: string; decline_code?: string; type?: string } };
  return error?.decline_code ?? error?.code ?? error?.type;
}
