/** Where the relay and the consumers report; pino's shape. Fields never hold an event's contents. */
export interface EventLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What may be written of an error: its name and code. Its text may quote a row. */
export function errorLabel(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  const cause = error.cause instanceof Error ? ` < ${errorLabel(error.cause)}` : '';
  return `${error.name}${code}${cause}`.slice(0, 300);
}
