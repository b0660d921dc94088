import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ProgramName, programFile, programs } from '@eligo/processes/programs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildPrograms } from '../bootstrap/build-programs.mjs';

const repositoryRoot = join(import.meta.dirname, '..', '..');
const names = Object.keys(programs) as ProgramName[];

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'eligo-programs-'));
  const files = ['node_modules', 'package.json', 'package-lock.json', 'tsconfig.json', 'scripts'];
  for (const name of files) symlinkSync(join(repositoryRoot, name), join(root, name));
  for (const name of names) write(programs[name], `console.log('${name}', import.meta.url, import.meta.dirname);\n`);
  write('packages/values/src/later.ts', "export const told: string = 'first';\n");
  write('proto/gen/.keep', '');
  write('web/checkout/src/.keep', '');
  write(programs.cli, "const { told } = await import('../../packages/values/src/later.ts');\nconsole.log(told);\n");
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const run = (name: ProgramName) =>
  execFileSync(process.execPath, [programFile(root, name)], { encoding: 'utf8' }).trim();
const later = () => readdirSync(join(root, 'dist')).filter((name) => name.startsWith('later-'));

it('runs a program from its source where nothing is built', () => {
  expect(programFile(root, 'billing')).toBe(join(root, programs.billing));
});

it('builds every program, and each finds the place of its source', async () => {
  await buildPrograms(root);
  for (const name of names) expect(programFile(root, name)).toBe(join(root, 'dist', `${name}.js`));
  const source = join(root, programs.gateway);
  expect(run('gateway')).toBe(`gateway file://${source} ${dirname(source)}`);
});

it('builds again when a source has changed, and only then', async () => {
  await buildPrograms(root);
  const builtAt = () => statSync(join(root, 'dist', '.stamp.json')).mtimeMs;
  const first = builtAt();
  await buildPrograms(root);
  expect(builtAt()).toBe(first);
  write('packages/values/src/later.ts', "export const told: string = 'second';\n");
  await buildPrograms(root);
  expect(run('cli')).toBe('second');
});

it('builds again when its stamp is empty or one of its files is gone', async () => {
  await buildPrograms(root);
  write('dist/.stamp.json', '');
  await buildPrograms(root);
  rmSync(join(root, 'dist', later()[0] ?? ''));
  await buildPrograms(root);
  expect(run('cli')).toBe('first');
});

it('leaves the files of editors out', async () => {
  symlinkSync('nowhere', join(root, 'cli', 'src', '.#main.ts'));
  await buildPrograms(root);
  expect(run('cli')).toBe('first');
});

it('keeps what processes of the build before may still load', async () => {
  await buildPrograms(root);
  const [first] = later();
  write('packages/values/src/later.ts', "export const told: string = 'second';\n");
  await buildPrograms(root);
  expect(later()).toHaveLength(2);
  write('packages/values/src/later.ts', "export const told: string = 'third';\n");
  await buildPrograms(root);
  expect(later()).toHaveLength(2);
  expect(later()).not.toContain(first);
});
