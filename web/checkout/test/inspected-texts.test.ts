import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { english } from '../src/strings-en.ts';

/** What a screen reader reads in each inspected state of the page. */
const readings = join(import.meta.dirname, '../../../e2e/test/read-aloud');
/** Texts by code. Each is shown in the place of the others, so that one of a table stands for all. */
const tables = new Set(['promoProblems', 'classes', 'failed', 'failedOfSetUp', 'refusals', 'problems']);
/** What no state is inspected with. Those of an invoice are other words in a place that is inspected. */
const notInspected = ['loading', 'healthCanPayAll', 'healthCanPayNothing', 'otherCardNeeded'].map(
  (name) => `ofInvoice.${name}`,
);

// Stands for what a text is about.
const about = '\0';

function textsOf(given: object, path = ''): [string, string][] {
  return Object.entries(given).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    if (typeof value === 'string') return [[path + name, value]];
    if (typeof value === 'function') return [[path + name, value(about, about, about)]];
    return textsOf(value as object, `${path}${name}.`);
  });
}

it('is inspected with each of its texts, but those that are named here [D14.366]', () => {
  const read = readdirSync(readings)
    .filter((name) => !name.endsWith('.es.txt'))
    .map((name) => readFileSync(join(readings, name), 'utf8'))
    .join('\n');
  const isRead = (text: string) => text.split(about).every((part) => read.includes(part.trim()));
  const texts = textsOf(english);
  const missing = texts.filter(([, text]) => !isRead(text)).map(([name]) => name);
  const tableOf = (name: string) => name.split('.')[0] ?? '';
  expect(missing.filter((name) => !tables.has(tableOf(name)))).toEqual(notInspected);
  const shown = new Set(texts.filter(([, text]) => isRead(text)).map(([name]) => tableOf(name)));
  expect([...tables].filter((name) => !shown.has(name))).toEqual([]);
});
