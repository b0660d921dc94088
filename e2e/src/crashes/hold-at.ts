import { waitUntil } from '@eligo/testkit';
import type { RunningShop } from './running-shop.ts';

/** A step that is held in the middle. */
export interface Held {
  /** Resolves once a step waits there. */
  reached(): Promise<void>;
  letGo(): Promise<void>;
}

/** Has checkout hold the next step that comes to a failpoint, as a process does that is stopped or very slow. */
export async function holdAt({ eligo }: RunningShop, failpoint: string): Promise<Held> {
  await eligo.armFailpoint('checkout', failpoint, { action: 'pause' });
  return {
    async reached() {
      const url = new URL('/failpoints/', eligo.adminOf('checkout'));
      await waitUntil(
        async () => {
          const all = (await (await fetch(url)).json()) as { name: string; waiting: number }[];
          return all.some(({ name, waiting }) => name === failpoint && waiting > 0);
        },
        { withinMs: 30_000, what: `a step at ${failpoint}` },
      );
    },
    letGo: () => eligo.releaseFailpoint('checkout', failpoint),
  };
}
