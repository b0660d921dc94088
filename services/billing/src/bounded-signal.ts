/**
 * A signal that is aborted with another one, or after so many milliseconds. `AbortSignal.timeout` does not serve here: while nothing listens to it, Node may
 * collect it, and a loop that looks at the joined signal between two pauses then never ends.
 */
export function boundedSignal(signal: AbortSignal, ms: number): AbortSignal {
  const over = new AbortController();
  // The timer keeps the controller.
  setTimeout(() => over.abort(), ms).unref();
  return AbortSignal.any([signal, over.signal]);
}
