import type { Violation } from '@eligo/failures';
import { idKindOf } from '@eligo/values';
import type { z } from 'zod';
import { locOf } from './screen.ts';

/** At most this many entries: whoever sends a hundred bad lines learns enough from the first ones. */
const maxViolations = 50;

/**
 * What is wrong with a body or a query, as the entries of a 422 (interface, Errors 2). Messages never hold what was sent, except an identifier
 * that is well formed (decisions 1.9).
 */
export function violationsOf(
  error: z.ZodError,
  at: 'body' | 'query',
  prefix: readonly string[],
  sent: unknown,
): Violation[] {
  return error.issues.slice(0, maxViolations).map((issue) => {
    const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path;
    const value = valueAt(sent, issue.path);
    return { loc: locOf(at, [...prefix, ...path]), msg: messageOf(issue, value), type: typeOf(issue, value) };
  });
}

function typeOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'custom' && typeof issue.params?.type === 'string') return issue.params.type;
  if (value === undefined) return 'missing';
  return issue.code;
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'custom' && String(issue.params?.type).endsWith('_not_found')) {
    const known = typeof value === 'string' && idKindOf(value) !== undefined;
    return known ? `${issue.message}: ${value}` : issue.message;
  }
  if (issue.code === 'invalid_key') return 'Invalid field name';
  if (issue.code === 'custom') return issue.message;
  return value === undefined ? 'Field required' : issue.message;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}
