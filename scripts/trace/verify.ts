import {
  exportsName,
  fieldsOfRecord,
  fieldsOfRequest,
  hasConstraint,
  holdsTest,
  isRoute,
  readSource,
} from './repository.ts';
import { quotesOf, type Rule, type TestName } from './rule.ts';

/** What a rule names and is not there, and what it leaves unsaid. */
export function flawsOf(rule: Rule): string[] {
  const { contract = [], code = [], database = [], tests = [], answers, asks, besides = [], aside } = rule;
  const about = quotesOf(rule)[0]?.slice(0, 60);
  const flaws = [
    ...contract.filter((name) => !isDeclared(name)).map((name) => `the contract has no ${name}`),
    ...code.filter((place) => !exportsName(place)).map((place) => `no code exports ${place}`),
    ...database.filter((name) => !hasConstraint(name)).map((name) => `docs/schema has no ${name}`),
    ...missingTests(tests),
    ...(answers === undefined ? [] : unknownNames(rule, fieldsOfRecord(answers), besides, `an answer's ${answers}`)),
    ...(asks === undefined ? [] : unknownNames(rule, fieldsOfRequest(asks), besides, `the request of ${asks}`)),
  ];
  const said = contract.length + code.length;
  if (aside === undefined && said === 0) flaws.push('neither contract nor code is named');
  if (aside === undefined && tests.length === 0) flaws.push('no test is named');
  if (aside !== undefined && said + tests.length > 0) flaws.push('it is put aside and traced as well');
  return flaws.map((flaw) => `"${about}": ${flaw}`);
}

/** Tests that are named and do not exist. */
export function missingTests(tests: readonly TestName[]): string[] {
  return tests.filter((test) => !holdsTest(test)).map(({ file, title }) => `${file} has no test "${title}"`);
}

function isDeclared(name: string): boolean {
  if (name.includes('#')) return exportsName(`packages/contract/src/${name}`);
  return isRoute(name);
}

function unknownNames(rule: Rule, known: ReadonlySet<string>, besides: readonly string[], of: string): string[] {
  if (known.size === 0) return [`nothing is known of ${of}`];
  const names = quotesOf(rule)
    .flatMap((quote) => [...quote.matchAll(/`([^`]+)`/g)])
    .filter(([, code = '']) => !code.includes('/v1/'))
    .flatMap(([, code = '']) => code.match(/[a-z][a-z0-9_]+/g) ?? []);
  return [...new Set(names)]
    .filter((name) => !known.has(name) && !besides.includes(name))
    .map((name) => `${of} has no ${name}`);
}

/** Files that are cited by a document and do not exist. */
export function missingCitations(markdown: string): string[] {
  const cited = [
    ...markdown.matchAll(/`((?:packages|gateway|services|sandbox|cli|e2e|docs)\/[\w./-]+\.(?:ts|sql|md))`/g),
  ];
  return cited.map(([, file = '']) => file).filter((file) => readSource(file) === undefined);
}
