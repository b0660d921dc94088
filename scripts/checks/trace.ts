// Every sentence of the interface about the catalog and the edge rules has its place in contract, code and test, and every error code its test.
// `--write` writes the pages.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gapsIn } from '../trace/coverage.ts';
import { codeFlaws, codesPage } from '../trace/error-codes.ts';
import { tracePage } from '../trace/page.ts';
import { sections, untraced } from '../trace/sections.ts';
import { sentencesBySection } from '../trace/sentences.ts';
import { flawsOf, missingCitations } from '../trace/verify.ts';
import { root } from '../turbo.ts';

const folder = join(root, 'docs/spec');
const documents = ['interface.md', 'decisions.md'];
const texts = new Map(documents.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
const sentences = new Map([...texts].map(([name, text]) => [name, sentencesBySection(text)]));
const pages = { 'trace.md': tracePage(sections, untraced), 'error-codes.md': codesPage() };

const findings = [
  ...headingsWithoutPlace(),
  ...sections.flatMap((section) => gapsIn(section, sentences.get(section.document)?.get(section.heading) ?? [])),
  ...sections.flatMap((section) => section.rules.flatMap(flawsOf)),
  ...[...texts].flatMap(([name, text]) =>
    missingCitations(text).map((file) => `${name} cites ${file}, which is not there`),
  ),
  ...codeFlaws(),
];
const write = process.argv.includes('--write');
for (const [name, text] of Object.entries(pages)) {
  if (write) writeFileSync(join(folder, name), text);
  else if (readIfThere(join(folder, name)) !== text)
    findings.push(`docs/spec/${name} is old: \`npm run trace\` writes it`);
}
for (const finding of findings) console.error(finding);
console.log(`${sections.flatMap((section) => section.rules).length} rules read, ${findings.length} findings`);
process.exitCode = findings.length === 0 ? 0 : 1;

// A section that is added to the interface is traced, or someone says why not.
function headingsWithoutPlace(): string[] {
  const known = new Set([
    ...sections.filter(({ document }) => document === 'interface.md').map(({ heading }) => heading),
    ...untraced.map(([heading]) => heading),
  ]);
  return [...(sentences.get('interface.md') ?? new Map<string, string[]>())]
    .filter(([heading, said]) => said.length > 0 && !known.has(heading))
    .map(([heading]) => `interface.md, ${heading}: neither traced nor named as untraced`);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
