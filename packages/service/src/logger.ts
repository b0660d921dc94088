import { currentRequest } from '@eligo/rpc';
import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { allowedFields } from './log-fields.ts';
import { scrub } from './scrub.ts';

/** A structured logger that writes only fields from the list of log-fields.ts, under the request id of the work under way. */
export type Logger = PinoLogger;

export interface LoggerOptions {
  /** The component whose logs these are. */
  readonly service: string;
  readonly level?: string | undefined;
  /** Where the lines go: standard output unless given. */
  readonly destination?: DestinationStream | undefined;
}

/** Makes a logger. Messages are our own words; whatever varies goes into a field. */
export function createLogger({ service, level = 'info', destination }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: { service, pid: process.pid },
      // A time in milliseconds looks like a card number to the scrubber once in ten.
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: allowedFields,
        bindings: allowedFields,
      },
      mixin: requestFields,
      // pino serializes errors itself before formatters see them, unless told otherwise.
      serializers: {},
      hooks: { streamWrite: scrub },
    },
    destination ?? pino.destination({ fd: 1, sync: false }),
  );
}

/** The levels that LOG_LEVEL may name. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

function requestFields(): Record<string, string> {
  const current = currentRequest();
  if (current === undefined) return {};
  const traceId = current.traceparent?.split('-')[1];
  return traceId === undefined ? { requestId: current.requestId } : { requestId: current.requestId, traceId };
}
