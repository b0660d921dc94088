/** Looks up once what several metrics of one scrape ask for. */
export function oncePerScrape<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let kept: { value: Promise<Value>; at: number } | undefined;
  return () => {
    if (kept === undefined || performance.now() - kept.at > scrapeMs) kept = { value: read(), at: performance.now() };
    return kept.value;
  };
}

/** The metrics of a scrape ask within this time. */
const scrapeMs = 500;
