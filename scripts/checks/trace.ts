// Every rule of docs/spec is cited by a test, or trace.md says why not; every declared error code is named by a test of a public request.
// `--write` writes docs/spec/error-codes.md; for each identifier among the arguments the tests that cite it are printed.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codesPage, untestedCodes } from '../error-codes.ts';
import { citationsIn, rulesIn, type TestName, traceFindings, untestedIn } from '../trace.ts';
import { root } from '../turbo.ts';

const asked = process.argv.slice(2);
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tests = globSync(['**/*.test.ts', '**/test/**/*.ts'], {
  cwd: root,
  exclude: ['**/node_modules', '.eligo'],
}).sort();
const rules = ['docs/spec/interface.md', 'docs/spec/decisions.md'].flatMap((path) => rulesIn(read(path)));
const untested = untestedIn(read('docs/spec/trace.md'));
const citations = new Map<string, TestName[]>();
for (const file of new Set(tests)) {
  for (const [id, titles] of citationsIn(file, read(file)))
    citations.set(id, [...(citations.get(id) ?? []), ...titles]);
}

const publicTests = tests.filter((file) => /^(?:e2e|gateway)\/test\//.test(file));
const findings = [...traceFindings({ rules, citations, untested }), ...untestedCodes(publicTests.map(read))];
const page = 'docs/spec/error-codes.md';
if (asked.includes('--write')) writeFileSync(join(root, page), codesPage());
else if (read(page) !== codesPage()) findings.push(`${page} is old: \`npm run trace\` writes it`);

for (const { file, title } of asked.flatMap((id) => citations.get(id) ?? [])) console.log(`${file}: ${title}`);
for (const finding of findings) console.error(finding);
console.log(`${rules.length} rules, ${untested.length} of them shown by no test, ${findings.length} findings`);
process.exitCode = findings.length === 0 ? 0 : 1;
