import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../turbo.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const files = listed.split('\n').filter((path) => path !== '' && existsSync(join(root, path)));
const documents = files.filter((path) => path.endsWith('.md'));
const sources = files.filter((path) =>
  /^(?:packages|services|gateway|sandbox|stack|cli)\/.*\bsrc\/.*(?<!\.test)\.ts$/.test(path),
);
const code = sources.map(read).join('\n');

it.each(documents)('%s leads to what is there: files, headings, paths', (document) => {
  const text = read(document);
  const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
  const missing = links.filter((link) => {
    const [path = '', heading] = link.split('#');
    const target = path === '' ? document : join(dirname(document), path);
    if (!existsSync(join(root, target))) return true;
    return heading !== undefined && !headingsOf(target).includes(heading);
  });
  expect(missing).toEqual([]);
  const named = [
    ...text.matchAll(
      /`((?:packages|services|gateway|sandbox|stack|testkit|cli|e2e|bench|scripts|deploy|docs|proto)\/[\w./*-]+)`/g,
    ),
  ];
  const paths = named.map(([, path = '']) => path).filter((path) => !path.startsWith('proto/gen'));
  expect(paths.filter((path) => globSync(path, { cwd: root }).length === 0)).toEqual([]);
});

it('docs/scale.md names each table whose primary key does not begin with account_id, and no other', () => {
  const schemas = globSync('docs/schema/*.sql', { cwd: root }).map(read).join('\n');
  const keys = [...schemas.matchAll(/ constraint (\w+)_pkey PRIMARY KEY \("?(\w+)/g)];
  expect(keys.length).toBeGreaterThan(100);
  const others = keys.filter(([, , first]) => first !== 'account_id').map(([, table]) => table);
  const [, list = ''] = /These tables have other keys:\n((?: {2}.*\n)+)/.exec(read('docs/scale.md')) ?? [];
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, table]) => table);
  expect(named.sort()).toEqual([...new Set(others)].sort());
});

it('docs/data-map.md says of each column that may name a shopper whether it is erased, and names none that is not there [D14.143]', () => {
  // What the catalog has is of the shop.
  const schemas = ['billing', 'checkout', 'gateway', 'refunds', 'webhooks'];
  const there = schemas.flatMap((schema) => columnsOf(schema));
  const erasing = read('docs/data-map.md').split('\n## Erasing a person\n')[1] ?? '';
  const named = [...erasing.matchAll(/^\| (.*?) \| (.*?) \|/gm)].flatMap(([, tables = '', columns = '']) =>
    [...tables.matchAll(/`(\w+\.\w+)`/g)].flatMap(([, table]) =>
      [...columns.matchAll(/`(\w+)`/g)].map(([, column]) => `${table}.${column}`),
    ),
  );
  const isPersonal =
    /[._](?:name|email|phone|employer|address|shipping|details|sealed|html|pdf|content|evidence|metadata|license|filename|description|body|payload)$/;
  expect(there.filter((column) => isPersonal.test(column) && !named.includes(column))).toEqual([]);
  expect(named.filter((column) => !there.includes(column) && !column.endsWith('.defaults'))).toEqual([]);
});

it('docs/spec/decisions.md has each decision under its section and topic, in order, and its table of topics lists them', () => {
  const page = read('docs/spec/decisions.md');
  const listed = [...page.matchAll(/^\| \[(.+)\]\(#.+\) \| ([\d, -]+) \|$/gm)].map(([, topic, numbers = '']) => ({
    heading: `### ${topic}`,
    numbers: numbers.split(', ').flatMap(numbersOf),
  }));
  let section = '';
  const topics = page.split(/^(?=##)/m).flatMap((part) => {
    const [heading = ''] = part.split('\n');
    section = /^## (\d+)\. /.exec(heading)?.[1] ?? section;
    const items = [...part.matchAll(/^- \*\*(\d+)\.(\d+)\*\* /gm)];
    expect(items.filter(([, of]) => of !== section)).toEqual([]);
    const numbers = items.map(([, , number]) => Number(number));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    return heading.startsWith('### ') ? [{ heading, numbers }] : [];
  });
  expect(topics.length).toBeGreaterThan(10);
  expect(listed).toEqual(topics);
});

it('ARCHITECTURE.md names no constraint, index or trigger that the schemas lack', () => {
  const invariants = read('ARCHITECTURE.md').split('\n## Seven invariants\n')[1]?.split('\n## ')[0] ?? '';
  const named = [...invariants.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name = '']) => name);
  const schemas = globSync('docs/schema/*.sql', { cwd: root }).map(read).join('\n');
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(schemas))).toEqual([]);
});

it('docs/configuration.md names every variable that the code reads, and no other', () => {
  const page = read('docs/configuration.md');
  const variable = /\b(?:ELIGO|STRIPE|OTEL|DATABASE|NATS|OWNER|GRPC|ADMIN|LOG)_[A-Z0-9_]*[A-Z0-9]\b/g;
  // What one process of Eligo tells another, and the names of streams and SQL.
  const inside =
    /^(?:ELIGO_PARENTS|ELIGO_BENCH_STATEMENTS|ELIGO_CHECKOUT|NATS_PASSWORD|ADMIN_NATS_PASSWORD|DATABASE_PASSWORD)$/;
  // `…_FILE` is told of all of them at once.
  const named = (code.match(variable) ?? []).map((name) => name.replace(/_FILE$/, ''));
  const inCode = new Set(named.filter((name) => !inside.test(name)));
  const inTests = new Set(['testkit', 'e2e'].flatMap(sourcesOf).join('\n').match(variable) ?? []);
  const told = new Set(page.match(variable));
  expect([...inCode].filter((name) => !told.has(name)).sort()).toEqual([]);
  expect([...told].filter((name) => !inCode.has(name) && !inTests.has(name)).sort()).toEqual([]);
});

it('CONTRIBUTING.md names every npm command, and documents name only those that are there', () => {
  const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
  const guide = read('CONTRIBUTING.md');
  const partOfAnother = /^(?:check:.+|test:all)$/;
  expect(scripts.filter((name) => !partOfAnother.test(name) && !guide.includes(commandOf(name)))).toEqual([]);
  const workspaces = files.filter((path) => /^(?:[^/]+\/)+package\.json$/.test(path)).map(read);
  const theirs = workspaces.flatMap((text) => {
    const { name, scripts: own = {} } = JSON.parse(text) as { name: string; scripts?: object };
    return Object.keys(own).map((script) => `${name} ${script}`);
  });
  const called = documents.flatMap((document) =>
    [...read(document).matchAll(/npm run (?:-s )?(?:-w (\S+) )?([a-z][a-z0-9:-]*)(?: -w ([@\w/-]+))?/g)].map(
      ([, before, name = '', after]) => ({ document, name, workspace: before ?? after }),
    ),
  );
  const unknown = called.filter(({ name, workspace }) =>
    workspace === undefined ? !scripts.includes(name) : !theirs.includes(`${workspace} ${name}`),
  );
  expect(unknown).toEqual([]);
});

// `30-33` and `52` of a list of numbers.
function numbersOf(range: string): number[] {
  const [first = 0, last = first] = range.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}

// As the sites that show documents make them.
function headingsOf(document: string): string[] {
  if (statSync(join(root, document)).isDirectory()) return [];
  const headings = [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function sourcesOf(folder: string): string[] {
  const path = join(root, folder, 'src');
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(path, name), 'utf8'));
}

function commandOf(script: string): string {
  return script === 'start' || script === 'test'
    ? `npm ${script}`
    : `npm run ${script === 'eligo' ? '-s eligo' : script}`;
}

function columnsOf(schema: string): string[] {
  const tables = [...read(`docs/schema/${schema}.sql`).matchAll(/^create table (\w+) \(\n([\s\S]*?)^\);/gm)];
  return tables.flatMap(([, table, body = '']) =>
    [...body.matchAll(/^ {2}"?(\w+)"? (?:text|jsonb|bytea)/gm)].map(([, column]) => `${schema}.${table}.${column}`),
  );
}
