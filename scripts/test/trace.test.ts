import { describe, expect, test } from 'vitest';
import { gapsIn } from '../trace/coverage.ts';
import { exportsName, hasConstraint, holdsTest } from '../trace/repository.ts';
import { sentencesBySection } from '../trace/sentences.ts';
import { flawsOf, missingCitations } from '../trace/verify.ts';

const markdown = `# Page

Intro on
two lines. Another one.

## Rules

1. First rule (\`a. b\`). Second
   sentence: \`x\`.
2. A table:

   | Head | Of it |
   | --- | --- |
   | \`a\` | one. Two |
`;

describe('sentences', () => {
  test('are those of paragraphs and list items, whole rows of tables, and no heads', () => {
    expect([...sentencesBySection(markdown)]).toEqual([
      ['Page', ['Intro on two lines.', 'Another one.']],
      ['Rules', ['First rule (`a. b`).', 'Second sentence: `x`.', 'A table:', '`a` | one. Two']],
    ]);
  });
});

describe('coverage', () => {
  const section = (...quotes: string[]) => ({
    document: 'page.md',
    heading: 'Rules',
    rules: quotes.map((quote) => ({ quote })),
  });

  test('is whole when every word is quoted, in parts or at once', () => {
    expect(gapsIn(section('First rule', '(`a. b`).'), ['First rule (`a. b`).'])).toEqual([]);
  });

  test('tells the words that nobody quotes, and the quotes that stand nowhere', () => {
    expect(gapsIn(section('First'), ['First rule.'])).toEqual([
      'page.md, Rules: no rule quotes "rule." of "First rule."',
    ]);
    expect(gapsIn(section('First rule', 'Third'), ['First rule.'])).toEqual([
      'page.md, Rules: no sentence has the words "Third"',
    ]);
  });

  test('is not had by a quote that joins two sentences', () => {
    expect(gapsIn(section('One. Two.'), ['One.', 'Two.'])).toHaveLength(3);
  });
});

describe('a rule', () => {
  const tests = [{ file: 'scripts/test/trace.test.ts', title: 'that names what is there has no flaw' }];

  test('that names what is there has no flaw', () => {
    const contract = ['prices.list', 'query.ts#listQuery'];
    const code = ['scripts/trace/verify.ts#flawsOf'];
    const database = ['catalog.prices_immutable'];
    expect(flawsOf({ quote: '`lookup_keys`', asks: 'prices.list', contract, code, database, tests })).toEqual([]);
    expect(flawsOf({ quote: '`unit_amount`', answers: 'price', code, tests })).toEqual([]);
    expect(flawsOf({ quote: 'x', aside: 'a heading' })).toEqual([]);
  });

  test.each([
    ['a route', { contract: ['prices.remove'] }, 'the contract has no prices.remove'],
    ['a declaration', { contract: ['query.ts#nothing'] }, 'the contract has no query.ts#nothing'],
    ['a name', { code: ['scripts/trace/verify.ts#isDeclared'] }, 'no code exports scripts/trace/verify.ts#isDeclared'],
    ['a constraint', { database: ['catalog.prices_immutabl'] }, 'docs/schema has no catalog.prices_immutabl'],
    ['a field', { answers: 'price' }, "an answer's price has no nothing_such"],
    ['a record', { answers: 'prices' }, "nothing is known of an answer's prices"],
  ])('that names %s that is not there is told', (_what, named, flaw) => {
    const contract = ['prices.get'];
    expect(flawsOf({ quote: '`nothing_such`', contract, tests, ...named })).toContain(`"\`nothing_such\`": ${flaw}`);
  });

  test('without a test, or without a place, is told', () => {
    expect(flawsOf({ quote: 'x', contract: ['prices.get'] })).toEqual(['"x": no test is named']);
    expect(flawsOf({ quote: 'x', tests })).toEqual(['"x": neither contract nor code is named']);
    expect(flawsOf({ quote: 'x', tests, aside: 'why' })).toEqual(['"x": it is put aside and traced as well']);
  });
});

test('a test is found by its whole title, also in a table of tests, and not by words in passing', () => {
  const file = 'scripts/test/trace.test.ts';
  expect(holdsTest({ file, title: 'that names %s that is not there is told' })).toBe(true);
  expect(holdsTest({ file, title: 'that names %s' })).toBe(false);
  expect(holdsTest({ file, title: 'x' })).toBe(false);
});

test('names are matched whole', () => {
  expect(exportsName('scripts/trace/verify.ts#flaws')).toBe(false);
  expect(exportsName('scripts/trace/nothing.ts#flawsOf')).toBe(false);
  expect(hasConstraint('catalog.account_scope on prices')).toBe(true);
  expect(hasConstraint('nothing.prices_immutable')).toBe(false);
});

test('files that a document cites and that are gone are told', () => {
  expect(missingCitations('`e2e/test/nothing.test.ts`, `scripts/turbo.ts` and `packages/values/src/ids.ts`')).toEqual([
    'e2e/test/nothing.test.ts',
  ]);
});
