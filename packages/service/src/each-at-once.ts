/** Does something for each item, so many at a time and in their order; after the signal nothing new begins. */
export async function eachAtOnce<Item>(
  items: readonly Item[],
  { atOnce, signal }: { readonly atOnce: number; readonly signal?: AbortSignal },
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items].reverse();
  const one = async () => {
    for (let next = left.pop(); next !== undefined && !signal?.aborted; next = left.pop()) await act(next);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
