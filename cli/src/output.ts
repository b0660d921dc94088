/** A stream that words are written to, as `process.stdout` is. */
export interface Output {
  write(text: string): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/**
 * Writes lines until the reader goes away, as `| head` does: calls `onClosed` once and reports no error. Other
 * errors are thrown.
 */
export function lineWriter(output: Output, onClosed: () => void): (text: string) => void {
  let closed = false;
  output.on('error', (error) => {
    if (error.code !== 'EPIPE') throw error;
    if (!closed) onClosed();
    closed = true;
  });
  return (text) => {
    if (!closed) output.write(`${text}\n`);
  };
}
