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
import { RepeatedLines } from './repeated-lines.ts';
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
  /** What bounds the lines of a failure that repeats; one of its own unless given. */
  readonly repeated?: RepeatedLines | undefined;
}

/** Makes a logger. Messages are our own words; whatever varies goes into a field. */
export function createLogger({ service, level, destination, repeated = new RepeatedLines() }: LoggerOptions): Logger {
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
      hooks: { streamWrite: scrub, logMethod: boundedBy(repeated) },
    },
    destination ?? unfailing(pino.destination({ fd: 1, sync: true, maxLength: mostWaitingBytes })),
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

// A full disk or a reader that left takes lines from the log, and nothing else: without a listener the first failed write would end the process.
// What could not be written waits for the next line, up to a bound.
function unfailing(stream: ReturnType<typeof pino.destination>): DestinationStream {
  stream.on('error', () => undefined);
  return stream;
}

const mostWaitingBytes = 256 * 1_024;

/** The levels that LOG_LEVEL may name. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** pino's number of `warn`. */
const warnLevel = 40;

// What a request asked for is a line of its own each time; warnings and errors may be one failure a thousand times.
function boundedBy(repeated: RepeatedLines) {
  return function log(this: PinoLogger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const message = messageOf(args);
    const summarize = (leftOutCount: number) => method.call(this, { leftOutCount }, message);
    if (level >= warnLevel && !repeated.admit({ key: `${level} ${message} ${kindOf(args[0])}`, summarize })) return;
    withOwnWords.call(this, args, method);
  };
}

// The first argument, or the second if the first one is fields or an error.
function messageOf([first, second]: readonly unknown[]): string {
  return [first, second].find((one) => typeof one === 'string') ?? '';
}

// What tells failures with one message apart: the kind of error, and what failed.
function kindOf(fields: unknown): string {
  if (fields instanceof Error) return errorKind(fields);
  if (typeof fields !== 'object' || fields === null) return '';
  const { err, error, method, route, job, consumer, service } = fields as Record<string, unknown>;
  return [err ?? error, method, route, job, consumer, service].map((one) => errorKind(one)).join(' ');
}

function errorKind(value: unknown): string {
  if (!(value instanceof Error)) return typeof value === 'string' ? value : '';
  const { code } = value as { code?: unknown };
  return `${value.name}/${typeof code === 'string' ? code : ''}`;
}

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
