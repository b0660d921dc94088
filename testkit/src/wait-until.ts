/** How long a condition may take before the test fails, and how often it is looked at. */
export interface WaitOptions {
  readonly withinMs?: number;
  readonly everyMs?: number;
  /** What is awaited, for the message of the failure. */
  readonly what?: string;
}

/**
 * Looks at a condition until it gives something other than undefined, null or false, and returns that. An error of the
 * last look becomes the cause of the failure.
 */
export async function waitUntil<Value>(
  look: () => Promise<Value | undefined | null | false> | Value | undefined | null | false,
  { withinMs = 30_000, everyMs = 25, what = 'what was awaited' }: WaitOptions = {},
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  let trouble: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== null && seen !== false) return seen;
      trouble = undefined;
    } catch (error) {
      trouble = error;
    }
    if (performance.now() >= deadline)
      throw new Error(`Timed out after ${withinMs} ms waiting for: ${what}`, { cause: trouble });
    await new Promise((wake) => setTimeout(wake, everyMs));
  }
}
