// Rules have identifiers, and tests cite them: `[CONF-2]` in docs/spec is shown by a test whose title ends with `[CONF-2]`.

/** A test, or a group of tests, by its file and title. */
export interface TestName {
  readonly file: string;
  readonly title: string;
}

/** What is wrong between the rules, the tests that cite them, and the list of rules that no test shows. */
export function traceFindings(given: {
  readonly rules: readonly string[];
  readonly citations: ReadonlyMap<string, readonly TestName[]>;
  readonly untested: readonly string[];
}): string[] {
  const { rules, citations, untested } = given;
  const known = new Set(rules);
  const listed = new Set(untested);
  return [
    ...repeatedIn(rules).map((id) => `${id} identifies two rules`),
    ...repeatedIn(untested).map((id) => `${id} is listed twice as untested`),
    ...rules.filter((id) => !citations.has(id) && !listed.has(id)).map((id) => `no test cites ${id}`),
    ...untested.filter((id) => !known.has(id)).map((id) => `${id} is listed as untested, and no rule has it`),
    ...untested.filter((id) => citations.has(id)).map((id) => `${id} is listed as untested, and a test cites it`),
    ...[...citations].flatMap(([id, tests]) =>
      known.has(id) ? [] : tests.map(({ file, title }) => `${file} cites ${id}, which no rule has: ${title}`),
    ),
  ];
}

/** The rules of interface.md and decisions.md: identifiers in brackets, and the items that begin with their section and number (`D14.30`). */
export function rulesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const item = /^- \*\*(\d+\.\d+)\*\* /.exec(line)?.[1];
    const bracketed = [...line.matchAll(/(?<!`)\[([A-Z]+-\d+)\](?![(`])/g)].map(([, id = '']) => id);
    return [...(item === undefined ? [] : [`D${item}`]), ...bracketed];
  });
}

/** The rules that trace.md lists as shown by no test: the first cell of each row. */
export function untestedIn(page: string): string[] {
  return [...page.matchAll(/^\| ([A-Z]+-\d+|D\d+\.\d+) \| \S/gm)].map(([, id = '']) => id);
}

/** The rules that a file's tests cite, each with the tests. */
export function citationsIn(file: string, text: string): Map<string, TestName[]> {
  const citations = new Map<string, TestName[]>();
  for (const [, , title = ''] of text.matchAll(titlePattern)) {
    const list = /\[((?:[A-Z]+-\d+|D\d+\.\d+)(?:, (?:[A-Z]+-\d+|D\d+\.\d+))*)\]$/.exec(title)?.[1] ?? '';
    for (const id of list.split(', ').filter(Boolean)) {
      citations.set(id, [...(citations.get(id) ?? []), { file, title }]);
    }
  }
  return citations;
}

// A text that is the first argument of it, test, describe, or of what their each() returns.
const titlePattern = /(?:\b(?:it|test|describe)|[)\]`])\(\s*(['"`])((?:\\.|(?!\1)[^\\])*?)\1\s*,/g;

function repeatedIn(ids: readonly string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}
