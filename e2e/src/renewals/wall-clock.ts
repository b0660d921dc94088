import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../chaos/random.ts';

/** The wall clock of all processes of a constellation, which the test sets. */
export interface WallClock {
  /** What the constellation is started with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets it somewhere between the farthest back and the farthest ahead. */
  jump(random: Random): void;
  /** Sets it as far ahead as it ever is: whatever a process held before a jump back is over a moment later. */
  goAhead(): void;
  /** How often it jumped. */
  readonly jumps: number;
  remove(): void;
}

/** Longer than any lease, pause or deadline of a charge. */
const farthestMs = 2 * 3_600_000;

export function wallClock(): WallClock {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-clock-'));
  const path = join(folder, 'ahead-ms');
  let jumps = 0;
  const set = (aheadMs: number) => {
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
      set(random.between(-farthestMs, farthestMs));
      jumps += 1;
    },
    goAhead: () => set(farthestMs),
    get jumps() {
      return jumps;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
