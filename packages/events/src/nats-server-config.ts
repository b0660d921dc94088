import { largestEventBytes } from './event-size.ts';
import { durableOf, inboxPrefixOf, streamOf, subjectsOf } from './names.ts';

/** A service as NATS sees it. */
export interface NatsService {
  /** The password, or the name of an environment variable that holds it, written `$NAME`. */
  readonly password: string;
  /** By producing service, the names of the consumers that this service runs on its stream. */
  readonly consumes?: Readonly<Record<string, readonly string[]>>;
}

export interface NatsServerOptions {
  readonly services: Readonly<Record<string, NatsService>>;
  /** The password of the user `admin`, who may do everything: for operators and tests, never for a service. */
  readonly adminPassword?: string;
  /** `host:port` to listen on. */
  readonly listen: string;
  /** The folder that JetStream keeps its files in. */
  readonly storeDirectory: string;
  /** `host:port` for health and metrics, if they are wanted. */
  readonly monitor?: string;
  /** JetStream's room on disk, or the name of an environment variable that holds it, written `$NAME` (10GB). */
  readonly maxFileStore?: string;
}

/**
 * The configuration of a NATS server on which each service may publish its own subjects, create and administer its own stream, work off
 * exactly its own consumers of others' streams, and listen to nothing but its own answers. Everything else is refused.
 */
export function natsServerConfig(options: NatsServerOptions): string {
  const users = Object.entries(options.services).map(([name, service]) => userOf(name, service));
  if (options.adminPassword !== undefined)
    users.push(`    { user: "admin", password: ${secret(options.adminPassword)} }`);
  return [
    `listen: ${quoted(options.listen)}`,
    ...(options.monitor === undefined ? [] : [`http: ${quoted(options.monitor)}`]),
    `max_payload: ${largestEventBytes}`,
    'jetstream {',
    `  store_dir: ${quoted(options.storeDirectory)}`,
    '  max_mem: 64MB',
    `  max_file: ${options.maxFileStore ?? '10GB'}`,
    '}',
    'authorization {',
    '  users: [',
    ...users,
    '  ]',
    '}',
    '',
  ].join('\n');
}

function userOf(name: string, { password, consumes = {} }: NatsService): string {
  const publish = new Set([
    ...ownSubjects(name),
    ...Object.entries(consumes).flatMap(([from, consumers]) => [
      // The stream names its installation.
      `$JS.API.STREAM.INFO.${streamOf(from)}`,
      ...consumers.flatMap((consumer) => consumerSubjects(name, from, consumer)),
    ]),
  ]);
  return [
    '    {',
    `      user: ${quoted(name)}`,
    `      password: ${secret(password)}`,
    '      permissions: {',
    `        publish: { allow: [${[...publish].map(quoted).join(', ')}] }`,
    `        subscribe: { allow: [${quoted(`${inboxPrefixOf(name)}.>`)}] }`,
    '      }',
    '    }',
  ].join('\n');
}

function ownSubjects(name: string): string[] {
  const stream = streamOf(name);
  return [
    subjectsOf(name),
    `$JS.API.STREAM.CREATE.${stream}`,
    `$JS.API.STREAM.UPDATE.${stream}`,
    `$JS.API.STREAM.INFO.${stream}`,
    `$JS.API.STREAM.MSG.GET.${stream}`,
    `$JS.API.CONSUMER.LIST.${stream}`,
    `$JS.API.CONSUMER.INFO.${stream}.*`,
    `$JS.API.CONSUMER.CREATE.${stream}.>`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.*`,
    `$JS.API.CONSUMER.DELETE.${stream}.*`,
  ];
}

function consumerSubjects(name: string, from: string, consumer: string): string[] {
  const place = `${streamOf(from)}.${durableOf(name, consumer)}`;
  return [
    `$JS.API.CONSUMER.INFO.${place}`,
    `$JS.API.CONSUMER.CREATE.${place}`,
    `$JS.API.CONSUMER.CREATE.${place}.>`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${place}`,
    `$JS.API.CONSUMER.DELETE.${place}`,
    `$JS.API.CONSUMER.MSG.NEXT.${place}`,
    `$JS.ACK.${place}.>`,
  ];
}

// A variable's name stands bare: the server reads its value from the environment.
function secret(password: string): string {
  return password.startsWith('$') ? password : quoted(password);
}

function quoted(text: string): string {
  if (/["\\\n]/.test(text)) throw new Error('A NATS setting contains a quote, a backslash or a line break');
  return `"${text}"`;
}
