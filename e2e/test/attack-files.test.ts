import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';
import { expect, it } from 'vitest';
import { downloadingFiles, filesOf, projectsOf, readAttacks } from '../src/attack-files.ts';

const attacks = readAttacks();

it('docs/security-testing.md names for each attack a test that `npm run e2e:attack` runs, or a command', () => {
  expect(attacks.length).toBeGreaterThan(40);
  expect(attacks.filter(({ files, commands }) => files.length + commands.length === 0)).toEqual([]);
  const files = attacks.flatMap((attack) => attack.files);
  expect(files.filter((file) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { scripts: object };
  const named = attacks.flatMap((attack) => attack.scripts);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

it('`npm run e2e:attack` runs tests that download packages only with --downloads', () => {
  const all = filesOf(attacks, { downloads: true });
  // What downloads: promtool, and the packages that the steps of the Dockerfile install.
  const downloads = (file: string) =>
    /\b(?:findPromtool|makeStage)\(/.test(readFileSync(join(repositoryRoot, file), 'utf8'));
  expect(all.filter(downloads).sort()).toEqual([...downloadingFiles].sort());
  expect(filesOf(attacks, { downloads: false })).toEqual(all.filter((file) => !downloads(file)));
});

it('the projects of test files are those of their packages', () => {
  expect(projectsOf(['services/webhooks/test/a.test.ts', 'gateway/test/b.test.ts', 'gateway/test/c.test.ts'])).toEqual([
    ...['webhooks', 'gateway'],
  ]);
});
