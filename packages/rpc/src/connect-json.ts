import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, Message } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { idKindOf } from '@eligo/values';
import type { Admission } from './admission.ts';
import { defaultTimeoutMs, maxTimeoutMs } from './call.ts';
import { Cancellation } from './cancellation.ts';
import { maxMessageBytes } from './codec.ts';
import { noCaller } from './identity.ts';
import { metadataBy } from './metadata.ts';
import { headerNames, type OperatorCall, problemOfProof } from './operator-proof.ts';
import { allowsMethod, type Login, type LoginVerifier } from './operator-token.ts';
import { componentOf, type MethodPolicy } from './policy.ts';
import { isRequestId, newRequestId } from './request-context.ts';
import type { Incoming, RpcServer } from './server.ts';

/** Who an operator calls as; a method's policy may name it. */
const operatorName = 'operator';

/** The largest request that an operator sends: four times what a partner may. */
const maxRequestBytes = 4 * 1024 * 1024;

/** What an operator asks a component to do. */
export interface OperatorAction {
  readonly login: Login;
  /** `<component>.<Method>`. */
  readonly action: string;
  /** Undefined for methods that work outside any account. */
  readonly scope: OperatorCall['scope'];
  /** The first identifier in the request. */
  readonly subjectId: string | undefined;
  readonly requestId: string;
  /** Whether the login or the method's policy forbids it. */
  readonly refused: boolean;
}

/** Lets operators in. */
export interface OperatorGate extends LoginVerifier {
  /** Keeps the action in the audit log, before it is carried out or refused; an action that cannot be recorded is refused. */
  record(action: OperatorAction): Promise<void>;
}

/**
 * Serves a component's methods as Connect over HTTP/1.1 with JSON, for people. Each call needs an operator's login as its bearer token, whose scope
 * names the method, and a proof for this call by the login's key. It may reach what the method's policy lets operators or the gateway reach. Without a
 * gate every call is refused.
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
    fallback: (request, response) => options.fallback(request as IncomingMessage, response as ServerResponse),
  });
}

function addRoutes(router: ConnectRouter, server: RpcServer, operators: OperatorGate | undefined): void {
  for (const { method, policy } of server.methods.values()) {
    const open = async (request: Message, context: HandlerContext): Promise<Incoming> => {
      const scope = scopeOf(context.requestHeader);
      // By the name of who serves it: a proof that one component received is for no other.
      const asked = { method: `${server.identity.name}.${method.name}`, scope };
      const login = loginOf(context, operators, asked);
      const given = context.requestHeader.get('eligo-request-id') ?? '';
      const requestId = isRequestId(given) ? given : newRequestId();
      context.responseHeader.set('request-id', requestId);
      const refusal = refusalOf(login, { method, policy }, scope);
      await recordFirst(operators, {
        ...{ login, scope, requestId, action: nameOf(method) },
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

function loginOf({ requestHeader }: HandlerContext, operators: OperatorGate | undefined, asked: OperatorCall): Login {
  const [, token] = /^Bearer (\S+)$/.exec(requestHeader.get('authorization') ?? '') ?? [];
  if (token === undefined || operators === undefined) {
    throw unauthenticated("Business calls on this port require an operator's login");
  }
  const login = operators.verify(token);
  if (login === undefined) {
    throw unauthenticated('The login expired, or is not of this installation and release; log in again');
  }
  const proof = requestHeader.get(headerNames.proof);
  if (proof === null) throw unauthenticated(`The call has no proof; ${makeHeaders}`);
  const problem = problemOfProof(proof, asked, login.proofKey);
  if (problem === undefined) return login;
  if (problem === 'expired') throw unauthenticated(`The proof is too old, or the clocks differ; ${makeHeaders}`);
  throw unauthenticated(`The proof is not for this component, method, account and mode by this login; ${makeHeaders}`);
}

const makeHeaders = 'make the headers of each call with eligo operator headers';

function unauthenticated(message: string): ConnectError {
  return new ConnectError(message, Code.Unauthenticated);
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

async function recordFirst(operators: OperatorGate | undefined, action: OperatorAction): Promise<void> {
  try {
    await operators?.record(action);
  } catch {
    // The gate has logged why.
    throw new ConnectError('The action cannot be recorded in the audit log', Code.Unavailable);
  }
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
