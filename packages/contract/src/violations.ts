import type { Violation } from '@eligo/failures';
import { idKindOf } from '@eligo/values';
import type { z } from 'zod';
import { locOf } from './screen.ts';

/** At most this many entries, and no fault after them is looked at: whoever sends thousands learns enough from the first ones. */
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
  const violations: Violation[] = [];
  const mistyped = new Set<string>();
  for (const issue of error.issues) {
    const place = issue.path.join('\0');
    // A value of another type also breaks the bounds of the right one, which says nothing.
    if (mistyped.has(place)) continue;
    if (issue.code === 'invalid_type') mistyped.add(place);
    const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path;
    const value = valueAt(sent, issue.path);
    violations.push({ loc: locOf(at, [...prefix, ...path]), msg: messageOf(issue, value), type: typeOf(issue, value) });
    if (violations.length === maxViolations) break;
  }
  return violations;
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
  return value === undefined ? 'Field required' : (demandOf(issue) ?? issue.message);
}

// What the field must be, in words that need no knowledge of the validator.
function demandOf(issue: z.core.$ZodIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `Must be ${typeNames[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `Must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    default:
      return undefined;
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  const counted = countedNames[origin];
  return counted === undefined ? `Must be ${relation} ${limit}` : `Must have ${relation} ${limit} ${counted}`;
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

const countedNames: Readonly<Record<string, string>> = { array: 'entries', string: 'characters' };

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}
