import { describe, expect, it } from 'vitest';
import { untestedCodes } from '../error-codes.ts';
import { citationsIn, rulesIn, traceFindings, untestedIn } from '../trace.ts';

const cite = (...ids: string[]) => new Map(ids.map((id) => [id, [{ file: 'a.test.ts', title: `holds [${id}]` }]]));

describe('the check of rules finds', () => {
  it.each([
    ['a rule that no test cites', { rules: ['GEN-1'], citations: cite(), untested: [] }, 'no test cites GEN-1'],
    [
      'a citation of no rule',
      { rules: [], citations: cite('GEN-1'), untested: [] },
      'a.test.ts cites GEN-1, which no rule has: holds [GEN-1]',
    ],
    [
      'an identifier of two rules',
      { rules: ['GEN-1', 'GEN-1'], citations: cite('GEN-1'), untested: [] },
      'GEN-1 identifies two rules',
    ],
    [
      'a rule that is listed as untested and cited',
      { rules: ['GEN-1'], citations: cite('GEN-1'), untested: ['GEN-1'] },
      'GEN-1 is listed as untested, and a test cites it',
    ],
    [
      'a listed rule that is not there',
      { rules: [], citations: cite(), untested: ['D1.1'] },
      'D1.1 is listed as untested, and no rule has it',
    ],
  ])('%s', (_what, given, finding) => expect(traceFindings(given)).toEqual([finding]));

  it('nothing where each rule is cited or listed', () => {
    const given = { rules: ['GEN-1', 'D1.2'], citations: cite('GEN-1'), untested: ['D1.2'] };
    expect(traceFindings(given)).toEqual([]);
  });

  it('a declared code that no test names', () => {
    expect(untestedCodes(['card_declined'])).toContain('no test of a public request names price_not_found');
    expect(untestedCodes(['card_declined'])).not.toContain('no test of a public request names card_declined');
  });
});

it('rules are identifiers in brackets, and the items that begin with a section and a number', () => {
  const text =
    '## 3. Lists\n\n- **3.1** Pages.\n  - **3.9** Not this one.\n- **3.2** [LIM-1] Limits.\n- **Nor** this.\n1. Nor this.\n\n[END-2] Others, [a link](x) and `[GEN-9]`.\n';
  expect(rulesIn(text)).toEqual(['D3.1', 'D3.2', 'LIM-1', 'END-2']);
});

it('citations end the title of a test, of its template, or of a group', () => {
  const bracket = '[';
  const text = [
    `it('one ${bracket}GEN-1, D14.30]', () => {});`,
    `it.each(cases)(\n  "%s ${bracket}GEN-2]",\n  () => {},\n);`,
    `describe(\`a \${thing} ${bracket}GEN-3]\`, () => {});`,
    `// ${bracket}GEN-4]`,
    `expect('${bracket}GEN-5]').toBe('${bracket}GEN-6]');`,
  ].join('\n');
  expect([...citationsIn('a.test.ts', text).keys()]).toEqual(['GEN-1', 'D14.30', 'GEN-2', 'GEN-3']);
});

it('untested rules are the rows of a table with a reason', () => {
  expect(untestedIn('| Rule | Why |\n| --- | --- |\n| GEN-1 | not served |\n| D2.3 |  |\n')).toEqual(['GEN-1']);
});
