import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';

/** A row of the table in docs/security-testing.md. */
export interface Attack {
  readonly name: string;
  /** The test files that `npm run e2e:attack` runs for it. */
  readonly files: readonly string[];
  /** The commands of its own that the row names. */
  readonly commands: readonly string[];
  /** The scripts of package.json that these commands run. */
  readonly scripts: readonly string[];
}

/** The attacks of docs/security-testing.md, with the tests and commands that show the defense. */
export function readAttacks(): readonly Attack[] {
  const page = readFileSync(join(repositoryRoot, 'docs', 'security-testing.md'), 'utf8');
  const [, table = ''] = page.split('\n| Attack | Before | After | Test |\n| --- | --- | --- | --- |\n');
  const [rows = ''] = table.split('\n\n');
  return rows.split('\n').map((row) => {
    const [, name = '', , , tests = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const named = [...tests.matchAll(/`([^`]+)`/g)].map(([, one = '']) => one);
    return {
      name,
      // The tests of e2e start a whole Eligo for each file. They are commands of their own, or run in `npm test`.
      files: named.filter((one) => one.endsWith('.test.ts') && !one.startsWith('e2e/')),
      commands: named.filter((one) => one.startsWith('npm ')),
      scripts: named.flatMap((one) => /^npm (?:run (?:-s )?)?([\w:-]+)/.exec(one)?.[1] ?? []),
    };
  });
}

/** Tests of installations that download packages: npm's from a registry, and promtool from Debian. */
export const downloadingFiles = ['stack/test/dockerfile.test.ts', 'stack/test/observe.test.ts'] as const;

/** The test files of the attacks, once each; those that download packages only if asked for. */
export function filesOf(attacks: readonly Attack[], { downloads }: { readonly downloads: boolean }): string[] {
  const files = [...new Set(attacks.flatMap((attack) => attack.files))];
  return downloads ? files : files.filter((file) => !(downloadingFiles as readonly string[]).includes(file));
}

/** The projects of vitest that test files are in. */
export function projectsOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => basename(file.split('/test/')[0] ?? '')))];
}
