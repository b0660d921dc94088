import { booksAgree } from '../books.ts';
import type { RunningShop } from './running-shop.ts';

/** How often each failpoint of checkout is passed by some work. */
async function passesOf(
  { eligo }: RunningShop,
  work: () => Promise<unknown>,
  isInFlight: boolean,
): Promise<Record<string, number>> {
  const hits = async () => {
    const url = new URL('/failpoints/', eligo.adminOf('checkout'));
    const all = (await (await fetch(url)).json()) as { name: string; hits: number }[];
    return new Map(all.map(({ name, hits: count }) => [name, count]));
  };
  if (!isInFlight) await booksAgree(eligo);
  const before = await hits();
  await work();
  if (!isInFlight) await booksAgree(eligo);
  const after = await hits();
  const passed = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(passed.filter(([, count]) => count > 0));
}

/**
 * Throws unless the work passes exactly these failpoints, with what the sweeper does after it, so that none of its places to die at is missing in a list.
 * `isInFlight`: a bank waits for its shopper, before it or after it.
 */
export async function passesExactly(
  running: RunningShop,
  expected: Readonly<Record<string, number>>,
  work: () => Promise<unknown>,
  { isInFlight = false }: { isInFlight?: boolean } = {},
): Promise<void> {
  const inOrder = (passes: Readonly<Record<string, number>>) =>
    JSON.stringify(Object.fromEntries(Object.entries(passes).toSorted(([one], [other]) => (one < other ? -1 : 1))));
  const passed = inOrder(await passesOf(running, work, isInFlight));
  if (passed !== inOrder(expected)) throw new Error(`passed ${passed}, and the list has ${inOrder(expected)}`);
}
