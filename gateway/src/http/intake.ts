import {
  expandKeysOf,
  fieldNamesOf,
  type Route,
  type RouteBody,
  readScopeOf,
  screen,
  toleranceOf,
  violationsOf,
} from '@eligo/contract';
import { Failure, type Violation } from '@eligo/failures';
import type { z } from 'zod';
import type { ActiveKey } from '../accounts/key-cache.ts';
import { hasScope } from './authorize.ts';
import type { Query } from './parse-query.ts';

/** What a handler is given of a query and a body. */
export interface Taken {
  readonly query: unknown;
  readonly body: unknown;
  readonly expand: ReadonlySet<string>;
}

/** Validates the query and the body of one route; one 422 lists the errors of both. What the key may not read is not expanded. */
export type Intake = (query: Query, body: unknown, key: Pick<ActiveKey, 'allowed'>) => Taken;

/** Compiles the intake of a route. */
export function intakeOf(route: Route): Intake {
  const { body: declared } = route;
  const readBody = declared === undefined || declared.file !== undefined ? undefined : bodyReader(declared);
  return (asked, sent, key) => {
    const violations: Violation[] = [];
    const refused = screen(asked, 'query') ?? screen(sent, 'body');
    if (refused !== undefined) throw Failure.violations([refused]);
    const query = route.query === undefined ? undefined : judge(route.query, asked, 'query', [], violations);
    const body = readBody?.(sent, violations);
    if (violations.length > 0) throw Failure.violations(violations);
    const expand = expandKeysOf(asked, route.expansion, (kind) => hasScope(key, readScopeOf(kind)));
    return { query, body, expand };
  };
}

type BodyReader = (sent: unknown, violations: Violation[]) => unknown;

function bodyReader({ envelope, schema, optional = false, bare = false }: RouteBody): BodyReader {
  const tolerate = toleranceOf(schema);
  const prefix = envelope === null ? [] : [envelope];
  const known = bare ? fieldNamesOf(schema) : [];
  const none = tolerate({});
  return (sent, violations) => {
    const missing = (...loc: string[]) => {
      violations.push({ loc: ['body', ...loc], msg: 'Field required', type: 'missing' });
      return undefined;
    };
    // PHP writes an empty object as [].
    const whole = Array.isArray(sent) && sent.length === 0 ? {} : sent;
    if (whole === undefined) return optional ? judge(schema, none, 'body', prefix, violations) : missing();
    if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) {
      violations.push({ loc: ['body'], msg: 'Must be an object', type: 'invalid_type' });
      return undefined;
    }
    const isEmpty = Object.keys(whole).length === 0;
    const inside = envelope === null ? whole : (whole as Record<string, unknown>)[envelope];
    if (inside === undefined && known.some((name) => Object.hasOwn(whole, name))) {
      return judge(schema, tolerate(whole), 'body', [], violations);
    }
    // Without the envelope the fields would be ignored, and a partial refund would refund the remaining balance.
    if (inside === undefined || inside === null) {
      const meansNothing = optional && (isEmpty || inside === null);
      return meansNothing ? judge(schema, none, 'body', prefix, violations) : missing(...prefix);
    }
    return judge(schema, tolerate(inside), 'body', prefix, violations);
  };
}

function judge(
  schema: z.ZodType,
  value: unknown,
  at: 'body' | 'query',
  prefix: readonly string[],
  violations: Violation[],
): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  violations.push(...violationsOf(result.error, at, prefix, value));
  return undefined;
}
