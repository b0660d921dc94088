import { Failure } from '@eligo/failures';
import { scrubMessage, withheld } from './scrub.ts';

/** The fields of a log line that may be there, each with what may be in it. Anything else is withheld: its name shows, its value does not. */
export function allowedFields(fields: Record<string, unknown>): Record<string, unknown> {
  const allowed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const kept = allowedField(name, value);
    if (kept !== undefined) allowed[name] = kept;
  }
  return allowed;
}

function allowedField(name: string, value: unknown): unknown {
  if (value === undefined) return undefined;
  // A label that somebody made of an error, or the error itself.
  if (name === 'error' && typeof value === 'string') return scrubMessage(value);
  if (name === 'err' || name === 'error') return describeError(value);
  if (!allowedNames.has(name) && !allowedEndings.test(name)) return withheld;
  if (Array.isArray(value)) return value.slice(0, longestList).map((entry) => allowedValue(entry));
  return allowedValue(value);
}

// Identifiers, names of ours, paths of routes, states: words without spaces. What people write does not look like this.
const wordSyntax = /^[\w.:/{}*>+,-]{0,160}$/;
const longestList = 20;

function allowedValue(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
    case 'boolean':
      return value;
    case 'bigint':
      return value.toString();
    case 'string':
      return wordSyntax.test(value) ? value : withheld;
    default:
      return value === null ? null : value instanceof Date ? value.toISOString() : withheld;
  }
}

const allowedEndings = /(?:Id|Ids|Ms|Bytes|Count|At|Seq|Port)$/;
const allowedNames = new Set([
  'action',
  'attempt',
  'attempts',
  'callee',
  'check',
  'code',
  'component',
  'consumer',
  'consumers',
  'count',
  'database',
  'declineCode',
  'epoch',
  'event',
  'events',
  'failpoint',
  'from',
  'host',
  'hostname',
  'how',
  'id',
  'ids',
  'inFlight',
  'job',
  'kept',
  'kind',
  'lag',
  'leg',
  'limit',
  'method',
  'mode',
  'operation',
  'phase',
  'pid',
  'port',
  'problem',
  'processor',
  'ready',
  'reason',
  'role',
  'route',
  'rows',
  'schema',
  'seq',
  'sequence',
  'service',
  'signal',
  'sqlState',
  'stage',
  'state',
  'status',
  'step',
  'store',
  'stream',
  'subject',
  'testMode',
  'topology',
  'type',
  'url',
  'version',
  'where',
]);

/** An error as it may be logged: its kind, its code, its text without what it quotes, where it was thrown, and its causes. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error, message: withheld };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error instanceof Failure ? error.code : scrubMessage(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: framesOf(error),
    ...(error.cause === undefined || depth >= deepestCause ? {} : { cause: describeError(error.cause, depth + 1) }),
  };
}

const deepestCause = 4;

// The first lines of a stack repeat the message, so only its frames are kept.
function framesOf(error: Error): string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 20)
    .map((line) => line.trim());
}
