import { create, type DescMethod, type Message } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { type Admission, admit } from './admission.ts';
import type { Call } from './call.ts';
import { inTurn, streamInTurn, type TakeTurn } from './call-turn.ts';
import type { Cancellation } from './cancellation.ts';
import type { Identity } from './identity.ts';
import type { Handlers, StreamHandler, UnaryHandler } from './implement.ts';
import type { CallMetadata } from './metadata.ts';
import { type MethodPolicy, policyOf } from './policy.ts';
import { type Around, ServedCall, type ServerObserver } from './served-call.ts';
import { type Deliver, ServedStream } from './served-stream.ts';
import type { TellWorked } from './tell-worked.ts';
import type { Tracer } from './tracing.ts';

export interface RpcServerOptions {
  readonly handlers: Handlers;
  readonly identity: Identity;
  readonly observer?: ServerObserver | undefined;
  /** Set only when traces are on: without it a call makes no spans. */
  readonly tracer?: Tracer | undefined;
  /** Holds an admitted unary call back before its handler runs: undefined when it need not wait, a rejection refuses it. */
  readonly holdBack?: ((method: DescMethod, call: Call) => Promise<void> | undefined) | undefined;
  /** Has an admitted call wait for its account's turn. */
  readonly takeTurn?: TakeTurn | undefined;
  /** Runs each step of an admitted call, in a context that is the call's and not its caller's. */
  readonly around?: Around | undefined;
}

/** A call as a transport hands it over. */
export interface Incoming {
  readonly metadata: CallMetadata;
  readonly cancellation: Cancellation;
  /** Set by a transport that has established by other means who calls (the admin port's operator). */
  readonly admission?: Admission | undefined;
  /** Told before the answer, by a transport whose caller asks for it. The answer of a canceled call then comes when its handler has ended. */
  readonly tellWorked?: TellWorked | undefined;
}

/** The calls of one component: admits, runs and accounts for each, whatever transport brought it. */
export interface RpcServer {
  readonly identity: Identity;
  readonly methods: ReadonlyMap<DescMethod, ServedMethod>;
  /** Runs a call and delivers its answer by `deliver`, whose failure is the call's. Rejects with a ConnectError and nothing else. */
  unary<Out>(method: DescMethod, request: Message, incoming: Incoming, deliver: Deliver<Out>): Promise<Out>;
  /** Starts when it is iterated; throws ConnectErrors and nothing else. */
  stream<Out>(method: DescMethod, request: Message, incoming: Incoming, deliver: Deliver<Out>): AsyncIterable<Out>;
  readonly inFlight: number;
  /** Refuses new calls from now on, and resolves when those in flight have ended. */
  drain(): Promise<void>;
}

/** A method with all that is needed to serve it. */
export interface ServedMethod {
  readonly method: DescMethod;
  readonly policy: MethodPolicy;
  readonly handler: UnaryHandler | StreamHandler | undefined;
}

/** Makes the server of a component. Throws when a method declares no policy. */
export function rpcServer(options: RpcServerOptions): RpcServer {
  const { handlers, identity, observer, tracer, holdBack, takeTurn, around } = options;
  const methods = servedMethods(handlers);
  let inFlight = 0;
  let draining = false;
  const drained = Promise.withResolvers<void>();

  const start = (method: DescMethod, { cancellation }: Incoming) => {
    inFlight += 1;
    const ended = () => {
      inFlight -= 1;
      if (draining && inFlight === 0) drained.resolve();
    };
    return new ServedCall(method, cancellation, { observer, around, ended });
  };
  const open = (served: ServedCall, method: DescMethod, { metadata, admission }: Incoming) => {
    if (draining) throw new ConnectError('The component is stopping', Code.Unavailable);
    const known = methods.get(method);
    if (known?.handler === undefined)
      throw new ConnectError(`Method ${method.name} is not implemented`, Code.Unimplemented);
    served.open(admission ?? admit(known.policy, metadata, identity), metadata, tracer);
    return known.handler;
  };

  return {
    identity,
    methods,
    unary(method, request, incoming, deliver) {
      const served = start(method, incoming);
      return new Promise((resolve, reject) => {
        const { cancellation, tellWorked } = incoming;
        const fail = (error: unknown) => reject(served.fail(error));
        // For how long a call was worked on is known only when its handler has ended, also of one whose caller no longer waits.
        const endsWithWork = tellWorked !== undefined && cancellation.reason === undefined;
        cancellation.onCancel(endsWithWork ? (reason) => served.fail(reason) : fail);
        if (served.closed) return;
        try {
          const handler = open(served, method, incoming) as UnaryHandler;
          served
            .run(async (call) => {
              const held = holdBack?.(method, call);
              if (held !== undefined) {
                await held;
                call.signal.throwIfAborted();
              }
              const answer = async () => deliver(create(method.output, (await handler(request, call)) as Message));
              if (takeTurn === undefined) return answer();
              return inTurn(takeTurn(method, call, tellWorked !== undefined), call, answer, tellWorked);
            })
            .then((answer) => {
              if (cancellation.reason !== undefined) return fail(cancellation.reason);
              served.succeed();
              resolve(answer);
            }, fail);
        } catch (error) {
          fail(error);
        }
      });
    },
    stream: (method, request, incoming, deliver) => ({
      [Symbol.asyncIterator]: () => {
        const served = start(method, incoming);
        const handler = () => {
          const found = open(served, method, incoming) as StreamHandler;
          return takeTurn === undefined ? found : streamInTurn(takeTurn, method, found, incoming.tellWorked);
        };
        return new ServedStream(method, request, incoming.cancellation, served, handler, deliver);
      },
    }),
    get inFlight() {
      return inFlight;
    },
    drain() {
      draining = true;
      if (inFlight === 0) drained.resolve();
      return drained.promise;
    },
  };
}

function servedMethods(handlers: Handlers): ReadonlyMap<DescMethod, ServedMethod> {
  const methods = new Map<DescMethod, ServedMethod>();
  for (const { service, methods: implemented } of handlers) {
    for (const method of service.methods) {
      if (method.methodKind !== 'unary' && method.methodKind !== 'server_streaming') {
        throw new Error(`${service.typeName}/${method.name}: client streaming is not supported`);
      }
      methods.set(method, { method, policy: policyOf(method), handler: implemented.get(method) });
    }
  }
  return methods;
}
