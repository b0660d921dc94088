/** Calls `work` page by page until a page is short. `work` gets the last item of the page before, and returns its own page, of `rowsOfPage` items at most. */
export async function inPages<Item>(
  rowsOfPage: number,
  work: (after: Item | undefined) => Promise<readonly Item[]>,
): Promise<void> {
  let after: Item | undefined;
  for (;;) {
    const page = await work(after);
    if (page.length < rowsOfPage) return;
    after = page.at(-1);
  }
}

/** All rows that `read` answers page by page, where the whole of them is wanted. */
export async function allInPages<Item>(
  rowsOfPage: number,
  read: (after: Item | undefined) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  await inPages<Item>(rowsOfPage, async (after) => {
    const page = await read(after);
    all.push(...page);
    return page;
  });
  return all;
}
