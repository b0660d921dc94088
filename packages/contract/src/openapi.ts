import { type FailureCode, failureTable, isFailureCode } from '@eligo/failures';
import { z } from 'zod';
import { idOf, notFoundCodeOf } from './fields.ts';
import { limits } from './limits.ts';
import { records } from './records.ts';
import type { Route } from './route.ts';
import { allRoutes } from './routes.ts';

type Schema = Record<string, unknown>;

/** The OpenAPI 3.1 description of the whole contract, generated from its declarations. */
export function openapi(): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Eligo',
      version: '0.1.0',
      summary: 'HSA/FSA commerce payments',
      description:
        'Amounts are whole cents of USD. Every request carries `Authorization: Bearer <key>`. Fields that are not known are ignored; ' +
        '`null` counts as absent.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: [...new Set(allRoutes.map(tagOf))].map((name) => ({ name })),
    paths: paths(),
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'A live or a test key.' } },
      schemas: { Refusal: refusal, ValidationRefusal: validationRefusal, ...recordSchemas() },
    },
  };
}

const refusal: Schema = {
  type: 'object',
  required: ['code', 'detail'],
  properties: { code: { type: 'string' }, detail: { type: 'string' }, decline_code: { type: 'string' } },
};

const validationRefusal: Schema = {
  type: 'object',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: { type: 'array', items: { type: 'string' } },
          msg: { type: 'string' },
          type: { type: 'string' },
        },
      },
    },
  },
};

function paths(): Schema {
  const described: Record<string, Schema> = {};
  for (const route of allRoutes) {
    const path = described[route.path] ?? {};
    path[route.method.toLowerCase()] = operation(route);
    described[route.path] = path;
  }
  return described;
}

function operation(route: Route): Schema {
  return {
    operationId: route.id.replace('.', '_'),
    summary: route.summary,
    tags: [tagOf(route)],
    ...(route.deprecation === undefined ? {} : { deprecated: true }),
    description: describe(route),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(route.body === undefined ? {} : { requestBody: requestBody(route) }),
    responses: { '200': success(route), ...refusals(route) },
  };
}

function describe(route: Route): string {
  const lines = [`Requires the scope \`${route.scope}\`.`];
  if (route.testOnly) lines.push('Test keys only.');
  if (route.deprecation !== undefined) {
    lines.push(`Use \`${route.deprecation.successor}\` instead; removed after ${route.deprecation.sunset}.`);
  }
  return lines.join(' ');
}

function pathParameters(route: Route): Schema[] {
  return Object.entries(route.params).map(([name, kind]) => ({
    name,
    in: 'path',
    required: true,
    schema: jsonSchema(idOf(kind), 'output'),
  }));
}

function queryParameters(route: Route): Schema[] {
  const schema = route.query === undefined ? {} : jsonSchema(route.query, 'output');
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const parameters = Object.entries(properties).map(([name, property]) => parameter(name, property));
  if (route.expansion.size === 0) return parameters;
  parameters.push({
    name: 'expand',
    in: 'query',
    description: `Comma-separated: ${[...route.expansion.keys()].join(', ')}. Other keys are ignored. An identifier stays where the API key lacks the scope to read its record.`,
    schema: { type: 'string' },
  });
  for (const key of route.expansion.keys()) {
    parameters.push({ name: `expand_${key}`, in: 'query', schema: { type: 'boolean' } });
  }
  return parameters;
}

function parameter(name: string, schema: Schema): Schema {
  if (schema.type === 'array') return { name: `${name}[]`, in: 'query', schema, style: 'form', explode: true };
  if (schema.type === 'object') return { name, in: 'query', schema, style: 'deepObject', explode: true };
  return { name, in: 'query', schema };
}

function headerParameters(route: Route): Schema[] {
  if (route.idempotency === 'ignored') return [];
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: route.idempotencyRequired,
      description: 'Send the same value on each retry of a request.',
      schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyLength },
    },
  ];
}

function requestBody({ body }: Route): Schema {
  if (body === undefined) return {};
  const { envelope, schema, optional = false, file } = body;
  const inside = jsonSchema(schema, 'input');
  if (file !== undefined) return upload(inside, file);
  const whole =
    envelope === null
      ? inside
      : { type: 'object', properties: { [envelope]: inside }, ...(optional ? {} : { required: [envelope] }) };
  return { required: !optional, content: { 'application/json': { schema: whole } } };
}

function upload(fields: Schema, file: string): Schema {
  const { properties = {}, required = [] } = fields as { properties?: Schema; required?: string[] };
  const content = { type: 'string', format: 'binary', maxLength: limits.fileBytes };
  const schema = { ...fields, properties: { ...properties, [file]: content }, required: [...required, file] };
  return { required: true, content: { 'multipart/form-data': { schema } } };
}

function success(route: Route): Schema {
  if (route.download !== undefined) {
    const content = Object.fromEntries(route.download.map((type) => [type, {}]));
    return { description: 'The content.', content };
  }
  const others = Object.fromEntries(route.otherTypes.map((type) => [type, {}]));
  const json = { schema: jsonSchema(route.response, 'output') };
  return { description: 'Done.', content: { 'application/json': json, ...others } };
}

function refusals(route: Route): Schema {
  const byStatus = new Map<number, string[]>();
  const add = (code: FailureCode) => {
    const { status } = failureTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  };
  for (const code of codesOf(route)) add(code);
  for (const code of anywhere) if (code !== 'conflict' || !byStatus.has(409)) add(code);
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, codes]) => [status, refused(status, codes, route)]),
  );
}

// What any endpoint may answer, whatever its parts (ERR-3), also when something is down.
const anywhere: readonly FailureCode[] = [
  'not_found',
  'conflict',
  'internal',
  'service_unavailable',
  'deadline_exceeded',
];

function refused(status: number, codes: readonly string[], { violations }: Route): Schema {
  const coded = { $ref: '#/components/schemas/Refusal' };
  const listed = { $ref: '#/components/schemas/ValidationRefusal' };
  const schema = status === 422 ? { anyOf: [listed, coded] } : coded;
  const described = codes.map(inCode).join(', ');
  const types = status === 422 && violations.length > 0 ? `; among the types ${violations.map(inCode).join(', ')}` : '';
  return { description: `${described}${types}`, content: { 'application/json': { schema } } };
}

function inCode(text: string): string {
  return `\`${text}\``;
}

/** Every code that a route can be refused with: its own, those that its parts imply, and those of any route. */
export function refusalsOf(route: Route): ReadonlySet<FailureCode> {
  return new Set([...codesOf(route), ...anywhere]);
}

/** The codes of a route: its own, and those that its parts imply. */
export function codesOf(route: Route) {
  const implied = [
    'unauthorized',
    'rate_limited',
    'insufficient_scope',
    ...(route.testOnly ? ['test_mode_required'] : []),
    ...(route.deprecation === undefined ? [] : ['endpoint_removed']),
    ...Object.values(route.params).map(notFoundCodeOf),
    // A write waits for another one of the same record, for a few seconds.
    ...(route.method === 'GET' ? [] : [...bodyCodes(route), 'lock_timeout']),
    ...keyCodes(route),
    'validation_error',
  ].filter(isFailureCode);
  return [...new Set([...implied, ...route.errors])];
}

function keyCodes({ idempotency, idempotencyRequired }: Route): string[] {
  if (idempotency === 'ignored') return [];
  return [
    'idempotency_key_in_use',
    ...(idempotency === 'strict' ? ['idempotency_key_reused'] : []),
    ...(idempotencyRequired ? ['idempotency_key_required'] : []),
  ];
}

function bodyCodes({ body }: Route): string[] {
  return body?.file === undefined
    ? ['invalid_json', 'payload_too_large', 'unsupported_media_type']
    : ['unsupported_media_type'];
}

function tagOf({ id }: Route): string {
  return id.slice(0, id.indexOf('.'));
}

// Records are named once and referred to, which also ends the circle of records that expand to one another.
const registry = z.registry<{ id: string }>();
for (const { name, schema } of Object.values(records)) registry.add(schema, { id: name });

function recordSchemas(): Schema {
  const { schemas } = z.toJSONSchema(registry, { io: 'output', uri: refTo });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, published(schema)]));
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  return published(z.toJSONSchema(schema, { io, metadata: registry, reused: 'inline' })) as Schema;
}

function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/**
 * A JSON schema as it is published: records are referred to under components, safe integers are just integers, and objects stay open, since an
 * answer may gain fields and a request's unknown fields are ignored.
 */
function published(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(published);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept: Schema = {};
  for (const [name, value] of Object.entries(schema)) {
    if (dropped.has(name) && typeof value !== 'object') continue;
    if (name === '$defs' || (name === 'additionalProperties' && value === false)) continue;
    if (typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER) continue;
    kept[name] = name === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', refTo('')) : published(value);
  }
  return kept;
}

const dropped = new Set(['$schema', '$id', 'id', 'emptyIsAbsent', 'idField']);
