import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allRoutes, openapi } from '@eligo/contract';
import { root } from '../turbo.ts';
import type { TestName } from './rule.ts';

/** The text of a file of the repository, or undefined when there is none. */
export function readSource(file: string): string | undefined {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const path = join(root, file);
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  sources.set(file, text);
  return text;
}

/** Whether a file exports a name: `<file>#<name>`. */
export function exportsName(place: string): boolean {
  const [file = '', name = ''] = place.split('#');
  const declared = new RegExp(`^export (?:async )?(?:function\\*?|const|class|interface|type) ${name}\\b`, 'm');
  return /^\w+$/.test(name) && declared.test(readSource(file) ?? '');
}

/** Whether a file holds a test of this title, written out or as the template that it is made from. */
export function holdsTest({ file, title }: TestName): boolean {
  const text = readSource(file) ?? '';
  return ["'", '"', '`'].some((quote) => {
    const written = quote + title.replaceAll(quote, `\\${quote}`) + quote;
    for (let at = text.indexOf(written); at !== -1; at = text.indexOf(written, at + 1)) {
      if (/(?:\b(?:it|test)|\)|\])\(\s*$/.test(text.slice(Math.max(0, at - 40), at))) return true;
    }
    return false;
  });
}

/** Whether a schema has a constraint, trigger, policy, index or table of this name: `catalog.prices_immutable`. */
export function hasConstraint(qualified: string): boolean {
  const [schema = '', ...rest] = qualified.split('.');
  const kinds = 'constraint|trigger|policy|index|table|function';
  return new RegExp(`\\b(?:${kinds}) ${rest.join('.')}\\b`, 'i').test(readSource(`docs/schema/${schema}.sql`) ?? '');
}

export function isRoute(id: string): boolean {
  return allRoutes.some((route) => route.id === id);
}

/** The names of a record's fields, and of the fields and values within them. */
export function fieldsOfRecord(name: string): ReadonlySet<string> {
  const { schemas } = description.components as { schemas: Record<string, unknown> };
  return namesIn(schemas[name]);
}

/** The names of the fields and values that a route's request may hold, in path, query and body. */
export function fieldsOfRequest(routeId: string): ReadonlySet<string> {
  const operations = Object.values(description.paths as Record<string, Record<string, Operation>>).flatMap(
    Object.values,
  );
  const operation = operations.find(({ operationId }) => operationId === routeId.replace('.', '_'));
  return namesIn([operation?.parameters, operation?.requestBody]);
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: unknown;
  readonly requestBody?: unknown;
}

const sources = new Map<string, string>();
const description = openapi();

// Property names, parameter names and the values of enumerations, however deep.
function namesIn(schema: unknown, names = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return names;
  const { properties, name, enum: values } = schema as Record<string, unknown>;
  if (typeof properties === 'object' && properties !== null) for (const key of Object.keys(properties)) names.add(key);
  if (typeof name === 'string') names.add(name.replace(/\[.*$/, ''));
  if (Array.isArray(values)) for (const value of values) names.add(String(value));
  for (const inner of Object.values(schema)) namesIn(inner, names);
  return names;
}
