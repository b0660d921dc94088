import type { Violation } from '@eligo/failures';
import { idKindOf } from '@eligo/values';
import type { z } from 'zod';
import { locOf } from './screen.ts';

/** At most this many entries, and later faults are not examined: the first hundred are enough for a client. */
const maxViolations = 50;

/**
 * What is wrong with a body or a query, as the entries of a 422 (ERR-2). Messages never hold what was sent, except an identifier
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
  for (const [index, issue] of error.issues.entries()) {
    const place = issue.path.join('\0');
    // A value of another type also breaks the bounds of the right one, which says nothing.
    if (mistyped.has(place)) continue;
    if (issue.code === 'invalid_type') mistyped.add(place);
    // A number beyond the safe integers is beyond the field's own bound, too, which comes next and is the one to keep to.
    const next = error.issues[index + 1];
    if (next?.code === issue.code && next.code.startsWith('too_') && next.path.join('\0') === place) continue;
    const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path;
    const value = valueAt(sent, issue.path);
    violations.push({
      loc: locOf(at, [...prefix, ...path]),
      msg: messageOf(issue, value, at),
      type: typeOf(issue, value),
    });
    if (violations.length === maxViolations) break;
  }
  return violations;
}

function typeOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'custom' && typeof issue.params?.type === 'string') return issue.params.type;
  if (value === undefined) return 'missing';
  return plainTypes[issue.code] ?? issue.code;
}

// Replaces the validator's internal terms by a message about the value.
const plainTypes: Readonly<Record<string, string>> = { custom: 'invalid_value', invalid_union: 'invalid_type' };

function messageOf(issue: z.core.$ZodIssue, value: unknown, at: 'body' | 'query'): string {
  if (issue.code === 'custom' && String(issue.params?.type).endsWith('_not_found')) {
    const known = typeof value === 'string' && idKindOf(value) !== undefined;
    return known ? `${issue.message}: ${value}` : issue.message;
  }
  if (issue.code === 'invalid_key') return `Invalid field name${issue.issues.map(faultOfKey).slice(0, 1).join()}`;
  if (issue.code === 'custom') return issue.message;
  return value === undefined ? 'Field required' : (demandOf(issue, at) ?? issue.message);
}

function faultOfKey(issue: z.core.$ZodIssue): string {
  const demand = demandOf(issue, 'body') ?? issue.message;
  return `: ${demand.charAt(0).toLowerCase()}${demand.slice(1)}`;
}

// What the field must be, in words that need no knowledge of the validator.
function demandOf(issue: z.core.$ZodIssue, at: 'body' | 'query'): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `Must be ${(at === 'query' ? queryTypeNames : typeNames)[issue.expected] ?? issue.expected}`;
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
  if (counted === undefined) return `Must be ${relation} ${limit}`;
  const [one, many] = counted;
  return `Must have ${relation} ${limit} ${Number(limit) === 1 ? one : many}`;
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

// In a query everything is text, or has been given several times or with brackets.
const queryTypeNames: Readonly<Record<string, string>> = {
  ...typeNames,
  object: 'of the form name[key]=value',
  record: 'of the form name[key]=value',
  string: 'a single value',
};

const countedNames: Readonly<Record<string, readonly [string, string]>> = {
  array: ['entry', 'entries'],
  string: ['character', 'characters'],
};

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}
