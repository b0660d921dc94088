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
