import { quotesOf, type Rule, type Section, type TestName } from './rule.ts';

/** The page that maps every sentence of the traced sections to contract, code, constraint and test. */
export function tracePage(sections: readonly Section[], untraced: readonly (readonly [string, string])[]): string {
  const rules = sections.flatMap((section) => section.rules);
  const traced = rules.filter((rule) => rule.aside === undefined);
  const tests = new Set(traced.flatMap(({ tests = [] }) => tests.map(({ file, title }) => `${file} ${title}`)));
  return [
    '# The catalog and the edge rules, sentence by sentence',
    '',
    'Where each sentence of [interface.md](interface.md) about shipping rates, components, products, prices, coupons, promo codes and eligibility,',
    'and about what all resources share, is declared (packages/contract), held (code, and the database where it refuses by itself) and tried.',
    `${traced.length} rules, ${tests.size} tests. Written by \`npm run trace\` from scripts/trace/rules; \`npm run check\` fails when a word of these`,
    'sections has no rule, when something named here does not exist, or when this page is old. Then follow the decisions of',
    '[decisions.md](decisions.md) that settle what the interface leaves open about the same.',
    ...sections.flatMap(sectionText),
    '',
    '## Elsewhere',
    '',
    ...untraced.map(([heading, why]) => `- **${heading}**: ${why}`),
    '',
  ].join('\n');
}

function sectionText({ document, heading, rules }: Section): string[] {
  return [
    '',
    `## ${heading}${document === 'interface.md' ? '' : ` ([${document}](${document}))`}`,
    '',
    ...rules.flatMap(ruleText),
  ];
}

function ruleText(rule: Rule): string[] {
  const words = quotesOf(rule).map(quoted).join(' … ');
  if (rule.aside !== undefined) return [`- ${words}: ${rule.aside}`];
  const { contract = [], code = [], database = [], tests = [], answers, asks } = rule;
  const checked = [
    ...(answers === undefined ? [] : [`fields of the answer's \`${answers}\``]),
    ...(asks === undefined ? [] : [`fields of the request of \`${asks}\``]),
  ];
  return [
    `- ${words}`,
    ...line('contract', [...contract.map(asCode), ...checked]),
    ...line('code', code.map(asCode)),
    ...line('database', database.map(asCode)),
    ...byFile(tests),
  ];
}

function line(name: string, places: readonly string[]): string[] {
  return places.length === 0 ? [] : [`  - ${name}: ${places.join(', ')}`];
}

function byFile(tests: readonly TestName[]): string[] {
  const files = [...new Set(tests.map(({ file }) => file))];
  return files.map((file) => {
    const titles = tests.filter((test) => test.file === file).map(({ title }) => `“${title}”`);
    return `  - test: \`${file}\` ${titles.join('; ')}`;
  });
}

function asCode(place: string): string {
  return `\`${place}\``;
}

function quoted(words: string): string {
  return `“${words}”`;
}
