import { currentRequest } from '@eligo/rpc';
import {
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  type LogFn,
  type Logger as PinoLogger,
  pino,
  stdTimeFunctions,
} from 'pino';
import { allowedFields } from './log-fields.ts';
import { scrub } from './scrub.ts';

/** A structured logger that writes only fields from the list of log-fields.ts, under the request id of the current work. */
export type Logger = PinoLogger;

export interface LoggerOptions {
  /** The component whose logs these are. */
  readonly service: string;
  /** One of `logLevels`; `info` unless given, also for one that does not exist, which is reported where the environment is read. */
  readonly level?: string | undefined;
  /** Where the lines go: standard output unless given. */
  readonly destination?: DestinationStream | undefined;
}

/** Makes a logger. Messages are our own words; whatever varies goes into a field. */
export function createLogger({ service, level, destination }: LoggerOptions): Logger {
  const logger = pino(
    {
      level: logLevels.find((one) => one === level) ?? 'info',
      base: { service, pid: process.pid },
      // A time in milliseconds looks like a card number to the scrubber once in ten.
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        // The base names the service; some say it again, since they may be given any logger.
        log: ({ service: named, ...fields }) =>
          allowedFields(named === service ? fields : { service: named, ...fields }),
        bindings: allowedFields,
      },
      mixin: requestFields,
      // The formatter has described the error already.
      serializers: { err: (described: unknown) => described },
      hooks: { streamWrite: scrub, logMethod: withOwnWords },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  );
  // pino formats the bindings of the first logger only; children inherit this method.
  const child: unknown = logger.child;
  Object.defineProperty(logger, 'child', {
    value(this: PinoLogger, bindings: Bindings, childOptions?: ChildLoggerOptions): unknown {
      return Reflect.apply(child as () => unknown, this, [allowedFields(bindings), childOptions] as unknown as []);
    },
  });
  return logger;
}

/** The levels that LOG_LEVEL may name. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

// Without a message pino takes the error's own, which may quote what a caller sent.
function withOwnWords(this: PinoLogger, args: Parameters<LogFn>, method: LogFn): void {
  const [first, message, ...rest] = args as unknown as [unknown, string | undefined, ...unknown[]];
  if (first instanceof Error) method.call(this, { err: first }, message ?? 'an error', ...rest);
  else if (typeof first === 'object' && message === undefined) method.call(this, first, 'no message');
  else method.apply(this, args);
}

function requestFields(): Record<string, string> {
  const current = currentRequest();
  if (current === undefined) return {};
  const traceId = current.traceparent?.split('-')[1];
  return traceId === undefined ? { requestId: current.requestId } : { requestId: current.requestId, traceId };
}
