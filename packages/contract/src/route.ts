import type { FailureCode } from '@eligo/failures';
import type { IdKind } from '@eligo/values';
import type { z } from 'zod';
import type { ExpandName } from './expansion.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The component that answers a route. */
export type Owner = 'gateway' | 'catalog' | 'checkout' | 'billing' | 'refunds' | 'webhooks';

/**
 * What an `Idempotency-Key` does on a route (decisions 1.1): `strict` replays, and refuses another body under the key; `replay` replays, and runs
 * another body as new; `session` is the creation of a session; `ignored` takes no notice.
 */
export type IdempotencyPolicy = 'strict' | 'replay' | 'session' | 'ignored';

/** A deprecated route: since when, until when, and what replaces it (interface, Versioning 2). */
export interface Deprecation {
  /** RFC 9745: `@` and Unix seconds. */
  readonly since: string;
  /** RFC 8594: an HTTP date. */
  readonly sunset: string;
  readonly successor: string;
}

/** The body of a route: an object under its envelope, or the whole body where there is no envelope. */
export interface RouteBody<Schema extends z.ZodType = z.ZodType> {
  readonly envelope: string | null;
  readonly schema: Schema;
  /** May be left out altogether. */
  readonly optional?: boolean;
  /** The fields may also stand without their envelope. */
  readonly bare?: boolean;
  /** The body is multipart/form-data, with the fields of the schema and one file, whose field has this name. */
  readonly file?: string;
}

/** One public endpoint, declared: everything that the gateway, the OpenAPI description and the generic tests know about it. */
export interface Route<Query extends z.ZodType = z.ZodType, Body extends z.ZodType = z.ZodType> {
  /** `<resource>.<verb>`; with an underscore for the point it is the OpenAPI operation id. */
  readonly id: string;
  readonly summary: string;
  readonly method: Method;
  /** Parameters stand in braces: `/v1/prices/{id}`. */
  readonly path: string;
  /** The kind of record that each path parameter names. */
  readonly params: Readonly<Record<string, IdKind>>;
  readonly scope: string;
  readonly owner: Owner;
  readonly query?: Query | undefined;
  readonly body?: RouteBody<Body> | undefined;
  /** The whole answer, its envelope included; strict. */
  readonly response: z.ZodType;
  /** Coded refusals beside those that its parts imply. */
  readonly errors: readonly FailureCode[];
  /** Codes that a 422 list of this route can have as an entry's type, beside the validator's own. */
  readonly violations: readonly FailureCode[];
  /** The names that `expand` answers to, with what each asks for. */
  readonly expansion: ReadonlyMap<string, ExpandName>;
  readonly idempotency: IdempotencyPolicy;
  /** The header must be there. */
  readonly idempotencyRequired: boolean;
  readonly testOnly: boolean;
  /** The body is judged before the path's record is looked up (confirm: decisions 7). */
  readonly bodyFirst: boolean;
  /** Its answer is one object that is written piece by piece: a list without a bound, whose length is not known beforehand. */
  readonly streamed: boolean;
  /** Its answer is the content of a file, of one of these media types. */
  readonly download: readonly string[] | undefined;
  /** Media types that a request can ask for in place of JSON. */
  readonly otherTypes: readonly string[];
  readonly deprecation?: Deprecation | undefined;
  /** The kind of seeded record whose id the generic probes put in the path. */
  readonly seed?: IdKind | undefined;
}

interface RouteInput<Query extends z.ZodType, Body extends z.ZodType>
  extends Pick<Route<Query, Body>, 'id' | 'summary' | 'method' | 'path' | 'scope' | 'owner' | 'response'> {
  readonly params?: Readonly<Record<string, IdKind>>;
  readonly query?: Query;
  readonly body?: RouteBody<Body>;
  readonly errors?: readonly FailureCode[];
  readonly violations?: readonly FailureCode[];
  readonly expansion?: ReadonlyMap<string, ExpandName>;
  readonly idempotency?: IdempotencyPolicy;
  readonly idempotencyRequired?: boolean;
  readonly testOnly?: boolean;
  readonly bodyFirst?: boolean;
  readonly streamed?: boolean;
  readonly download?: readonly string[];
  readonly otherTypes?: readonly string[];
  readonly deprecation?: Deprecation;
}

/** Declares a route. Throws when it says too little: a path parameter without a kind, a method that cannot have a body with one. */
export function defineRoute<Query extends z.ZodType = z.ZodNever, Body extends z.ZodType = z.ZodNever>(
  input: RouteInput<Query, Body>,
): Route<Query, Body> {
  const params = input.params ?? {};
  const named = [...input.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  for (const name of named)
    if (params[name] === undefined) throw new Error(`Route ${input.id}: parameter {${name}} has no record kind`);
  if (Object.keys(params).length !== named.length)
    throw new Error(`Route ${input.id}: a parameter is missing from the path`);
  if (input.method === 'GET' && input.body !== undefined)
    throw new Error(`Route ${input.id}: a read cannot have a body`);
  if (!/^[a-z_]+_(read|write)$/.test(input.scope)) throw new Error(`Route ${input.id}: unknown scope ${input.scope}`);
  return {
    ...input,
    params,
    errors: input.errors ?? [],
    violations: input.violations ?? [],
    expansion: input.expansion ?? new Map(),
    idempotency: input.idempotency ?? 'ignored',
    idempotencyRequired: input.idempotencyRequired ?? false,
    testOnly: input.testOnly ?? false,
    bodyFirst: input.bodyFirst ?? false,
    streamed: input.streamed ?? false,
    download: input.download,
    otherTypes: input.otherTypes ?? [],
    seed: named[0] === undefined ? undefined : params[named[0]],
  };
}
