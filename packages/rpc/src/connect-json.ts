import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescMethodServerStreaming, DescMethodUnary, Message } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { Admission } from './admission.ts';
import { defaultTimeoutMs, maxTimeoutMs } from './call.ts';
import { Cancellation } from './cancellation.ts';
import { maxMessageBytes } from './codec.ts';
import { noCaller } from './identity.ts';
import { metadataBy } from './metadata.ts';
import type { MethodPolicy } from './policy.ts';
import type { Incoming, RpcServer } from './server.ts';

/** Who the holder of the operator's token calls as; a method's policy may name it. */
const operatorName = 'operator';

/** The largest request that an operator sends: four times what a partner may. */
const maxRequestBytes = 4 * 1024 * 1024;

/** The headers by which an operator names the account and the mode to work in (test unless it says `false`). */
const operatorHeaders = { account: 'eligo-account', testMode: 'eligo-test-mode' } as const;

/**
 * Serves a component's methods as Connect over HTTP/1.1 with JSON, for people: each call needs the operator's token as its bearer token, and
 * may reach what the gateway may reach. Without a configured token every call is refused.
 */
export function connectNodeHandler(
  server: RpcServer,
  options: {
    operatorToken: string | undefined;
    fallback: (request: IncomingMessage, response: ServerResponse) => void;
  },
): (request: IncomingMessage, response: ServerResponse) => void {
  return connectNodeAdapter({
    routes: (router) => addRoutes(router, server, options.operatorToken),
    grpc: false,
    grpcWeb: false,
    readMaxBytes: maxRequestBytes,
    writeMaxBytes: maxMessageBytes,
    maxTimeoutMs,
    acceptCompression: [],
    fallback: (request, response) => options.fallback(request as IncomingMessage, response as ServerResponse),
  });
}

function addRoutes(router: ConnectRouter, server: RpcServer, operatorToken: string | undefined): void {
  for (const { method, policy } of server.methods.values()) {
    const open = (context: HandlerContext) =>
      incomingOf(context, admitOperator(server, policy, context, operatorToken));
    if (method.methodKind === 'unary') {
      router.rpc(method as DescMethodUnary, (request, context) =>
        server.unary(method, request, open(context), asItStands),
      );
    } else {
      router.rpc(method as DescMethodServerStreaming, (request, context) =>
        server.stream(method, request, open(context), asItStands),
      );
    }
  }
}

function admitOperator(
  server: RpcServer,
  policy: MethodPolicy,
  { requestHeader }: HandlerContext,
  operatorToken: string | undefined,
): Admission {
  if (!isBearer(requestHeader.get('authorization'), operatorToken)) {
    throw new ConnectError("Business calls on this port require the operator's token", Code.Unauthenticated);
  }
  if (!policy.callers.has(operatorName) && !policy.callers.has('gateway')) {
    throw new ConnectError('An operator may not call this method', Code.PermissionDenied);
  }
  const accountId = requestHeader.get(operatorHeaders.account);
  if (accountId !== null) {
    const testMode = requestHeader.get(operatorHeaders.testMode) !== 'false';
    return { from: operatorName, caller: server.identity.callerFor({ accountId, testMode, keyId: operatorName }) };
  }
  if (!policy.withoutContext) {
    throw new ConnectError(`Set the account in the header ${operatorHeaders.account}`, Code.InvalidArgument);
  }
  return { from: operatorName, caller: noCaller };
}

/** Whether an Authorization header carries `token`, compared in constant time; never when there is no token. */
function isBearer(authorization: string | null | undefined, token: string | undefined): boolean {
  if (token === undefined || token === '' || authorization === null || authorization === undefined) return false;
  const given = createHash('sha256').update(authorization).digest();
  return timingSafeEqual(given, createHash('sha256').update(`Bearer ${token}`).digest());
}

function incomingOf(context: HandlerContext, admission: Admission): Incoming {
  const cancellation = new Cancellation(context.timeoutMs() ?? defaultTimeoutMs);
  cancellation.follow(context.signal);
  return { metadata: metadataBy((name) => context.requestHeader.get(name) ?? undefined), cancellation, admission };
}

function asItStands(answer: Message): Message {
  return answer;
}
