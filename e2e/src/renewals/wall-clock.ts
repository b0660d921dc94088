import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../chaos/random.ts';

/** The wall clock of all processes of a constellation, which the test sets. */
export interface WallClock {
  /** What the constellation is started with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets it somewhere between four hours before the farthest that it ever was, and there. */
  jump(random: Random): void;
  /** Sets it farther ahead than it ever was: no process holds anything any more, or waits to ask for a charge again. */
  goAhead(): void;
  /** Sets it to a time, and right again. */
  advanceTo(at: Date): void;
  setRight(): void;
  /** The time that the processes read. */
  now(): Date;
  /** How often it jumped. */
  readonly jumps: number;
  remove(): void;
}

/** Longer than any lease, pause or deadline of a charge. */
const rangeMs = 4 * 3_600_000;
/** A charge whose outcome is unknown for hours, by a clock that jumped, is asked for again after a minute. */
const correctionMs = 65_000;
/** No subscription by the wall clock is to come to a period that its model does not have. */
const mostMs = 8 * 24 * 3_600_000;

export function wallClock(): WallClock {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-clock-'));
  const path = join(folder, 'ahead-ms');
  let jumps = 0;
  let farthestMs = rangeMs / 2;
  let aheadMs = 0;
  const set = (ms: number) => {
    aheadMs = ms;
    // In one step: a process never reads half of it.
    writeFileSync(`${path}.new`, String(aheadMs));
    renameSync(`${path}.new`, path);
  };
  set(0);
  const preloaded = new URL('jumping-clock.mjs', import.meta.url);
  preloaded.search = encodeURIComponent(path);
  return {
    environment: { NODE_OPTIONS: `--import=${preloaded.href}` },
    jump(random) {
      set(farthestMs - random.between(0, rangeMs));
      jumps += 1;
    },
    goAhead() {
      farthestMs = Math.min(farthestMs + correctionMs, mostMs);
      set(farthestMs);
    },
    advanceTo(at) {
      set(at.getTime() - Date.now());
    },
    setRight: () => set(0),
    now: () => new Date(Date.now() + aheadMs),
    get jumps() {
      return jumps;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
