import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Call } from './call.ts';

/** The handler of one method: a unary one answers one message, a server stream yields as many as it likes. */
export type HandlerOf<Method extends DescMethod> =
  Method extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: Call) => Promise<MessageInitShape<O>> | MessageInitShape<O>
    : Method extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, call: Call) => AsyncIterable<MessageInitShape<O>>
      : never;

/** The handlers of a service's methods; a method left out answers Unimplemented. Annotate one file's share of them with `Partial`. */
export type Implementation<Service extends DescService> = {
  [Name in keyof Service['method']]?: HandlerOf<Service['method'][Name]>;
};

/** A unary handler as the server runs it, its types forgotten. */
export type UnaryHandler = (request: Message, call: Call) => unknown;
/** A streaming handler as the server runs it, its types forgotten. */
export type StreamHandler = (request: Message, call: Call) => AsyncIterable<unknown>;

/** A service with its handlers, ready to be served over any transport. */
export interface ServiceHandlers {
  readonly service: DescService;
  readonly methods: ReadonlyMap<DescMethod, UnaryHandler | StreamHandler>;
}

/** All the services that one component serves. */
export type Handlers = readonly ServiceHandlers[];

/** Joins a service with its handlers: `implement(CatalogService, { getPrice(request, call) { … } })`. */
export function implement<Service extends DescService>(
  service: Service,
  implementation: Implementation<Service>,
): ServiceHandlers {
  const methods = new Map<DescMethod, UnaryHandler | StreamHandler>();
  const given = new Map(Object.entries(implementation));
  for (const method of service.methods) {
    const handler = given.get(method.localName);
    given.delete(method.localName);
    if (handler === undefined) continue;
    methods.set(method, handler as UnaryHandler | StreamHandler);
  }
  const [unknown] = given.keys();
  if (unknown !== undefined) throw new Error(`Service ${service.typeName} has no method ${unknown}`);
  return { service, methods };
}
