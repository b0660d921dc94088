import { AsyncLocalStorage } from 'node:async_hooks';

/** What ties the current work to the request that asked for it, in logs, calls and events. */
export interface RequestContext {
  readonly requestId: string;
  readonly traceparent?: string | undefined;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work` under a request id; calls, logs and events made by it carry that id. */
export function withRequestContext<Result>(context: RequestContext, work: () => Result): Result {
  return storage.run(context, work);
}

/** The request that the current work belongs to, if any. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

/** Whether the current work runs under this request and trace already. */
export function isCurrentRequest({ requestId, traceparent }: RequestContext): boolean {
  const current = storage.getStore();
  return current !== undefined && current.requestId === requestId && current.traceparent === traceparent;
}

/** The most that a request id from outside may be: what we make ourselves is shorter. */
const requestIdSyntax = /^[\w.:-]{1,128}$/;

export function isRequestId(text: string): boolean {
  return requestIdSyntax.test(text);
}

/** A new request id, for work that no request asked for. */
export function newRequestId(): string {
  return `req_${crypto.randomUUID().replaceAll('-', '')}`;
}
