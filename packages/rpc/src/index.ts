export { BoundedCache } from './bounded-cache.ts';
export { type Call, type CallOptions, type CallScope, defaultTimeoutMs, maxTimeoutMs } from './call.ts';
export type { CallTurn, TakeTurn } from './call-turn.ts';
export { type Client, type ClientMethod, type ClientOptions, client } from './client.ts';
export { connectNodeHandler } from './connect-json.ts';
export { type CallerInit, type Identity, noCaller, openIdentity } from './identity.ts';
export { type HandlerOf, type Handlers, type Implementation, implement, type ServiceHandlers } from './implement.ts';
export { inProcessTransport } from './in-process.ts';
export { type ComponentKeys, generateComponentKeys, publicKeyOf } from './keys.ts';
export {
  type OperatorAction,
  type OperatorGate,
  type RefusedCall,
  refusalReasons,
  UsedProof,
} from './operator-entry.ts';
export { generateProofKey, type OperatorRequest, operatorHeaders } from './operator-proof.ts';
export {
  allowsMethod,
  type Login,
  type LoginVerifier,
  loginVerifier,
  longestLoginMs,
  type Operator,
  signLogin,
} from './operator-token.ts';
export { componentOf, type MethodPolicy, policyOf } from './policy.ts';
export {
  currentRequest,
  isRequestId,
  newRequestId,
  type RequestContext,
  withRequestContext,
} from './request-context.ts';
export type { FinishedCall, ServerObserver } from './served-call.ts';
export { type RpcServer, type RpcServerOptions, rpcServer } from './server.ts';
export type { TellWorked } from './tell-worked.ts';
export { contextOfTraceparent, type Tracer, traceparentOf } from './tracing.ts';
