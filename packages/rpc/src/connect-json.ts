import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, Message } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { idKindOf, systemClock } from '@eligo/values';
import type { Admission } from './admission.ts';
import { defaultTimeoutMs, maxTimeoutMs } from './call.ts';
import { Cancellation } from './cancellation.ts';
import { maxMessageBytes } from './codec.ts';
import { noCaller } from './identity.ts';
import { metadataBy } from './metadata.ts';
import { type OperatorAction, OperatorEntry, type OperatorGate } from './operator-entry.ts';
import { headerNames } from './operator-proof.ts';
import { allowsMethod, type Login } from './operator-token.ts';
import { componentOf, type MethodPolicy } from './policy.ts';
import { isRequestId, newRequestId } from './request-context.ts';
import { watchDigest } from './request-digest.ts';
import type { Incoming, RpcServer } from './server.ts';

/** Who an operator calls as; a method's policy may name it. */
const operatorName = 'operator';

/** The largest request that an operator sends: four times what a partner may. */
const maxRequestBytes = 4 * 1024 * 1024;

/**
 * Serves a component's methods as Connect over HTTP/1.1 with JSON, for people. Each call needs an operator's login as its bearer token, whose scope
 * names the method, and a proof for this call and its content by the login's key, which serves once. It may reach what the method's policy lets operators or the
 * gateway reach. Without a gate every call is refused.
 */
export function connectNodeHandler(
  server: RpcServer,
  options: {
    operators: OperatorGate | undefined;
    fallback: (request: IncomingMessage, response: ServerResponse) => void;
  },
): (request: IncomingMessage, response: ServerResponse) => void {
  return connectNodeAdapter({
    routes: (router) => addRoutes(router, server, options.operators),
    grpc: false,
    grpcWeb: false,
    readMaxBytes: maxRequestBytes,
    writeMaxBytes: maxMessageBytes,
    maxTimeoutMs,
    acceptCompression: [],
    contextValues: (request) => {
      const { socket } = request as IncomingMessage;
      const arrival = { from: socket.remoteAddress, digest: watchDigest(request as IncomingMessage) };
      return createContextValues().set(arrivalKey, arrival);
    },
    fallback: (request, response) => options.fallback(request as IncomingMessage, response as ServerResponse),
  });
}

/** What is known of a request besides its message and headers. */
interface Arrival {
  readonly from: string | undefined;
  readonly digest: () => Buffer;
}

const noArrival: Arrival = { from: undefined, digest: () => Buffer.alloc(0) };
const arrivalKey = createContextKey(noArrival);

function addRoutes(router: ConnectRouter, server: RpcServer, operators: OperatorGate | undefined): void {
  for (const { method, policy } of server.methods.values()) {
    const open = async (request: Message, context: HandlerContext): Promise<Incoming> => {
      const scope = scopeOf(context.requestHeader);
      // By the name of who serves it: a proof that one component received is for no other.
      const asked = { method: `${server.identity.name}.${method.name}`, scope };
      const given = context.requestHeader.get('eligo-request-id') ?? '';
      const requestId = isRequestId(given) ? given : newRequestId();
      context.responseHeader.set('request-id', requestId);
      const { from, digest } = context.values.get(arrivalKey);
      const entry = new OperatorEntry(operators, { ...asked, requestId, from }, systemClock);
      const { login, proofId } = entry.admit(context.requestHeader, digest);
      const refusal = refusalOf(login, { method, policy }, scope);
      await entry.record({
        ...{ login, proofId, scope, requestId, action: nameOf(method) },
        ...{ subjectId: firstIdIn(request), refused: refusal !== undefined },
      });
      if (refusal !== undefined) throw refusal;
      const admission = admissionOf(server, login, scope);
      return incomingOf(context, admission, requestId);
    };
    if (method.methodKind === 'unary') {
      router.rpc(method as DescMethodUnary, async (request, context) =>
        server.unary(method, request, await open(request, context), asItStands),
      );
    } else {
      router.rpc(method as DescMethodServerStreaming, async function* (request, context) {
        yield* server.stream(method, request, await open(request, context), asItStands);
      });
    }
  }
}

type OperatorScope = NonNullable<OperatorAction['scope']>;

function scopeOf(requestHeader: Headers): OperatorScope | undefined {
  const accountId = requestHeader.get(headerNames.account);
  if (accountId === null) return undefined;
  return { accountId, testMode: requestHeader.get(headerNames.testMode) !== 'false' };
}

function refusalOf(
  login: Login,
  { method, policy }: { method: DescMethod; policy: MethodPolicy },
  scope: OperatorScope | undefined,
): ConnectError | undefined {
  if (!policy.callers.has(operatorName) && !policy.callers.has('gateway')) {
    return new ConnectError('An operator may not call this method', Code.PermissionDenied);
  }
  const isRead = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  if (!allowsMethod(login, nameOf(method), isRead)) {
    return new ConnectError(
      `The login does not allow this method; log in with --allow ${nameOf(method)}`,
      Code.PermissionDenied,
    );
  }
  if (scope === undefined && !policy.withoutContext) {
    return new ConnectError(`Set the account in the header ${headerNames.account}`, Code.InvalidArgument);
  }
  return undefined;
}

function admissionOf(server: RpcServer, login: Login, scope: OperatorScope | undefined): Admission {
  if (scope === undefined) return { from: operatorName, caller: noCaller };
  const keyId = login.operator.id ?? operatorName;
  return { from: operatorName, caller: server.identity.callerFor({ ...scope, keyId }) };
}

function nameOf(method: DescMethod): string {
  return `${componentOf(method.parent)}.${method.name}`;
}

/** Identifiers are all that a log may keep of a request: other fields may have names or secrets in them. */
function firstIdIn(request: Message): string | undefined {
  return Object.values(request).find(
    (value): value is string => typeof value === 'string' && idKindOf(value) !== undefined,
  );
}

function incomingOf(context: HandlerContext, admission: Admission, requestId: string): Incoming {
  const cancellation = new Cancellation(context.timeoutMs() ?? defaultTimeoutMs);
  cancellation.follow(context.signal);
  const metadata = metadataBy((name) => context.requestHeader.get(name) ?? undefined);
  return { metadata: { ...metadata, 'eligo-request-id': requestId }, cancellation, admission };
}

function asItStands(answer: Message): Message {
  return answer;
}
