// npm run seeded-bugs: seeds each bug into a copy of the code and shows which check catches it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';
import { type Bug, bugs } from '../seeded-bugs/bugs.ts';
import { copyTree } from '../seeded-bugs/copy-tree.ts';
import { runTests } from '../seeded-bugs/run-test.ts';

const home = join(repositoryRoot, '.eligo', 'seeded-bugs');
mkdirSync(home, { recursive: true });

const wanted = process.argv.slice(2).join(' ');
const chosen = bugs.filter(({ name }) => name.includes(wanted));
if (chosen.length === 0) throw new Error(`no bug is named like ${wanted}`);

// First the code as it is: a test that fails without a bug catches none.
const trouble = await withoutBug(chosen);
let caughtBugs = 0;
for (const bug of chosen) {
  const startedAt = performance.now();
  const { caught, text } = await seed(bug);
  if (caught) caughtBugs += 1;
  else trouble.push(bug.name);
  console.log(`${caught ? 'caught  ' : 'SURVIVED'}  ${bug.name}`);
  console.log(`          ${text} (${Math.round((performance.now() - startedAt) / 1_000)} s)`);
}
console.log(`${caughtBugs} of ${chosen.length} seeded bugs caught`);
process.exitCode = trouble.length === 0 ? 0 : 1;

async function withoutBug(all: readonly Bug[]): Promise<string[]> {
  return inCopy(async (folder) => {
    const failures: string[] = [];
    for (const [file, own] of Map.groupBy(all, (bug) => bug.file)) {
      const ended = await runTests(
        folder,
        file,
        own.map(({ test }) => test),
      );
      for (const bug of own) {
        const its = ended.filter(({ name }) => name.includes(bug.test));
        const failed = its.find(({ passed }) => !passed);
        if (failed) failures.push(`without a bug: ${failed.name}: ${failed.message}`);
        if (its.length === 0) failures.push(`no test is named ${bug.test}`);
      }
    }
    for (const failure of failures) console.log(failure);
    console.log(failures.length === 0 ? 'passed    the code as it is' : 'FAILED    the code as it is');
    return failures;
  });
}

async function seed(bug: Bug): Promise<{ caught: boolean; text: string }> {
  return inCopy(async (folder) => {
    for (const edit of bug.edits) {
      const path = join(folder, edit.file);
      const code = readFileSync(path, 'utf8');
      const times = code.split(edit.find).length - 1;
      if (times !== 1)
        throw new Error(`${bug.name}: ${edit.file} holds ${times} times, instead of once:\n${edit.find}`);
      writeFileSync(
        path,
        code.replace(edit.find, () => edit.replace),
      );
    }
    const ended = await runTests(folder, bug.file, [bug.test]);
    const failed = ended.find(({ passed }) => !passed);
    if (!failed) return { caught: false, text: `${bug.file}: ${ended.length} tests passed` };
    const said = failed.message.split('\n').find((line) => bug.caughtBy.test(line));
    if (said === undefined)
      return { caught: false, text: `${failed.name} failed, but of something else: ${failed.message}` };
    return { caught: true, text: `by "${failed.name}": ${said.trim().slice(0, 160)}` };
  });
}

async function inCopy<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = mkdtempSync(join(home, 'copy-'));
  try {
    copyTree(folder);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
