import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { allRoutes, openapi } from '../src/index.ts';

const read = (page: string) => readFileSync(new URL(`../../../docs/spec/${page}`, import.meta.url), 'utf8');
const description = openapi();
const { schemas } = description.components as { schemas: Record<string, { properties: Record<string, unknown> }> };

// Values that the schemas leave open, and the expand key of another record.
const values = [
  ...['base', 'exclusive', 'lmn_consultation', 'existing_letter', 'charge_automatically'],
  ...['acquirer_reference_number', 'available', 'coupons'],
];

test.each([
  ['Shipping rate', 'shipping_rate'],
  ['Product component', 'product_component'],
  ['Price', 'price'],
  ['Checkout session', 'checkout_session'],
  ['Discount', 'checkout_session'],
  ['Subscription', 'subscription'],
  ['Invoice', 'invoice'],
  ['Refund', 'refund'],
  ['File', 'file'],
])(
  'the fields that the interface names under %s are those of the contract [RATE-1, COMP-1, COMP-3, PRICE-1, PRICE-2, SESS-1, DISC-1, SUB-1, INV-1, REF-1, FILE-1]',
  (heading, name) => {
    const section = read('interface.md').split(`\n### ${heading}\n`)[1]?.split('\n#')[0] ?? '';
    const named = [...section.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/[a-z][a-z0-9_]+/g) ?? []);
    const known = new Set([...namesIn(schemas[name]), ...namesIn(requestOf(name))]);
    expect(named.length).toBeGreaterThan(5);
    expect([...new Set(named)].filter((field) => !known.has(field) && !values.includes(field))).toEqual([]);
    const answered = Object.keys(schemas[name]?.properties ?? {});
    if (heading !== 'Discount') expect(answered.filter((field) => !named.includes(field))).toEqual([]);
  },
);

test('the fields that the decisions name of the other records are those of the contract [REC-1]', () => {
  const section = read('decisions.md').split('[REC-1]')[1]?.split('\n- **4.1** ')[0] ?? '';
  const rows = [...section.matchAll(/^\| ([a-z ]+) \| (.*) \|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, title = '', cell = ''] of rows) {
    const name = title.replace('endpoint', '').trim().replaceAll(' ', '_');
    const fields = (cell.match(/`[^`]+`/g) ?? []).join(' ');
    const missing = Object.keys(schemas[name]?.properties ?? {}).filter((field) => !fields.includes(field));
    expect({ name, missing }).toEqual({ name, missing: [] });
    const own = fields.replaceAll(/[{(][^})]*[})]/g, '').match(/[a-z][a-z0-9_]+/g) ?? [];
    const known = namesIn(schemas[name]);
    expect({ name, unknown: own.filter((field) => !known.has(field) && !['true', 'false'].includes(field)) }).toEqual({
      name,
      unknown: [],
    });
  }
});

test('the list of a consumer leaves out what the interface says [INV-2]', () => {
  const route = allRoutes.find(({ id }) => id === 'consumer_invoices.list');
  const shown = namesIn(operationOf(route?.id ?? ''));
  for (const field of ['payment_intent', 'paid_at']) expect(shown).not.toContain(field);
});

interface Operation {
  readonly operationId: string;
  readonly parameters?: unknown;
  readonly requestBody?: unknown;
  readonly responses?: unknown;
}

function requestOf(name: string): unknown {
  const operation = operationOf(`${name}s.create`);
  return [operation?.parameters, operation?.requestBody];
}

function operationOf(id: string): Operation | undefined {
  const operations = Object.values(description.paths as Record<string, Record<string, Operation>>).flatMap(
    Object.values,
  );
  return operations.find(({ operationId }) => operationId === id.replace('.', '_'));
}

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
