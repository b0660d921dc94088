import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fingerprintOf } from '../src/backup/back-up.ts';
import { restore } from '../src/backup/restore.ts';
import { makeHome } from '../src/home.ts';
import { choosePlace, clusterIn, type Place } from '../src/postgres/place.ts';

let folder: string;
let outside: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-place-'));
  outside = join(folder, 'outside');
  path = join(folder, 'home');
});
afterEach(() => rmSync(folder, { recursive: true }));

const me = { name: 'postgres', uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** As root starts Eligo in a home that the user of Postgres may not enter. */
const closed = () => ({ outside, mayEnter: () => false });

const open = () => ({ outside, mayEnter: () => true });

/** A start in a home that may not be entered, which makes the cluster where there is none. */
function start(root: string): Place {
  const place = choosePlace(makeHome(root), me, closed());
  makeCluster(place);
  return place;
}

function makeCluster({ data }: Place): void {
  const made = join(clusterIn(data), 'made');
  if (existsSync(made)) return;
  mkdirSync(clusterIn(data));
  writeFileSync(made, '');
}

/** As if the last start was eight days ago. */
function age({ data }: Place): void {
  const then = new Date(Date.now() - 8 * 24 * 3_600_000);
  utimesSync(join(dirname(data), 'owner.json'), then, then);
}

const isKept = ({ data }: Place) => existsSync(join(clusterIn(data), 'made'));

function ownerOf({ data }: Place): unknown {
  return JSON.parse(readFileSync(join(dirname(data), 'owner.json'), 'utf8')).home;
}

it('keeps its database outside, from one start to the next, and when the home moves long after the last start [D14.294]', () => {
  const place = start(path);
  expect(place.data.startsWith(outside)).toBe(true);
  expect(start(path)).toEqual(place);
  age(place);
  const moved = join(folder, 'moved');
  renameSync(path, moved);
  expect(start(moved)).toEqual({ ...place, unclaimed: [] });
  expect(isKept(place)).toBe(true);
  expect(ownerOf(place)).toBe(moved);
});

it('keeps the database of a home that was put aside, when a backup is restored in its place [D14.294]', async () => {
  const before = start(path);
  age(before);
  renameSync(path, `${path}.before`);
  const backup = join(folder, 'backup');
  mkdirSync(join(backup, 'postgres'), { recursive: true });
  writeFileSync(join(backup, 'postgres', 'made'), '');
  const kept = { secrets: {}, demo: null };
  const secretsFile = join(folder, 'secrets');
  writeFileSync(secretsFile, JSON.stringify(kept));
  writeFileSync(join(backup, 'backup.json'), JSON.stringify({ format: 1, secrets_fingerprint: fingerprintOf(kept) }));
  await restore(path, { folder: backup, secretsFile }, { user: me, surroundings: closed() });
  expect(isKept(before)).toBe(true);
  const restored = start(path);
  expect(restored.data).not.toBe(before.data);
  expect(restored.unclaimed).toEqual([expect.stringContaining(`rm -r ${dirname(before.data)}`)]);
  expect(start(`${path}.before`)).toEqual({ ...before, unclaimed: [] });
});

it('keeps the database of a home whose disk is not mounted, when an empty home is made at its path [D14.294]', () => {
  const place = start(path);
  age(place);
  renameSync(path, join(folder, 'unmounted'));
  const empty = start(path);
  expect(empty.data).not.toBe(place.data);
  expect(empty.unclaimed).toEqual([expect.stringContaining(`${dirname(place.data)} has the database of a home that`)]);
  expect(isKept(place)).toBe(true);
  rmSync(path, { recursive: true });
  renameSync(join(folder, 'unmounted'), path);
  const again = start(path);
  expect(again.data).toBe(place.data);
  expect(again.unclaimed).toEqual([expect.stringContaining(dirname(empty.data))]);
});

it('keeps the database of another home whose disk is not mounted, and names it to the operator [D14.294]', () => {
  const place = start(path);
  age(place);
  renameSync(path, join(folder, 'unmounted'));
  const other = start(join(folder, 'other'));
  expect(isKept(place)).toBe(true);
  expect(other.unclaimed).toEqual([
    `${dirname(place.data)} has the database of a home that was last at ${path}, and is not there now. Eligo keeps it. ` +
      `If the home was moved, or its disk is not mounted, do nothing. To delete the database for good: rm -r ${dirname(place.data)}`,
  ]);
  renameSync(join(folder, 'unmounted'), path);
  expect(start(join(folder, 'other')).unclaimed).toEqual([]);
});

it('keeps its database where it is when the home becomes one that may be entered [D14.294]', () => {
  const place = start(path);
  expect(choosePlace(makeHome(path), me, open())).toEqual(place);
});

it('refuses a home whose database it cannot serve, and begins no empty one [D14.294]', () => {
  const inside = choosePlace(makeHome(path), me, open());
  makeCluster(inside);
  expect(() => start(path)).toThrow(
    `The database of ${path} is in ${inside.data}, where the user postgres may not enter`,
  );
  const other = join(folder, 'other');
  const place = start(other);
  expect(() => choosePlace(makeHome(other), undefined, closed())).toThrow('start Eligo as root');
  renameSync(outside, `${outside}.elsewhere`);
  expect(() => start(other)).toThrow(`The database of ${other} is in ${dirname(place.data)}, which is not there`);
  expect(existsSync(outside)).toBe(false);
});

it('refuses a copy of a home beside the original, whose server it would stop [D14.294]', () => {
  const place = start(path);
  const copy = join(folder, 'copy');
  cpSync(path, copy, { recursive: true });
  expect(() => start(copy)).toThrow(`${path} and ${copy} both name the database in ${dirname(place.data)}`);
  expect(start(path)).toEqual(place);
  rmSync(path, { recursive: true });
  expect(start(copy)).toEqual(place);
});
