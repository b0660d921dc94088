import { type DescMethod, type DescService, getOption, hasOption } from '@bufbuild/protobuf';
import { policy } from '@eligo/proto/caller/v1/caller';

/** Who may call a method, as its proto declares it. */
export interface MethodPolicy {
  readonly callers: ReadonlySet<string>;
  /** Works outside any account; every other method needs a caller context. */
  readonly withoutContext: boolean;
}

/** The policy of a method. Throws when it declares none, so that a server with an unguarded method does not start. */
export function policyOf(method: DescMethod): MethodPolicy {
  const name = `${method.parent.typeName}/${method.name}`;
  if (!hasOption(method, policy)) throw new Error(`Method ${name} does not declare its callers`);
  const declared = getOption(method, policy);
  if (declared.callers.length === 0) throw new Error(`Method ${name} declares no callers`);
  return { callers: new Set(declared.callers), withoutContext: declared.withoutContext };
}

/** The component that serves a service: `eligo.catalog.v1.CatalogService` is catalog's. */
export function componentOf(service: DescService): string {
  const [root, component] = service.typeName.split('.');
  if (root !== 'eligo' || component === undefined) throw new Error(`No component owns ${service.typeName}`);
  return component;
}
