import { gatewayHost } from '@eligo/gateway/address';
import { isGivenTo } from './component-variables.ts';
import type { ComponentName } from './components.ts';
import { defaultNatsStoreGb } from './nats/configuration.ts';
import type { Secrets } from './secrets.ts';

/** A set of variables. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Where one component listens and what it uses. */
export interface ComponentPlace {
  readonly name: ComponentName;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly adminPort: number;
  /** The gateway's is its public port; a service in the all-in-one has none. */
  readonly port: number | undefined;
}

/** What all components of a stack share. */
export interface SharedPlace {
  readonly secrets: Secrets;
  readonly processor: { readonly url: string; readonly key: string };
  /** The gateway's address, where shoppers open checkout pages unless ELIGO_PUBLIC_URL says otherwise. */
  readonly publicUrl: string;
  /** The folder of all state, on the disk that is watched. */
  readonly home: string;
  /** Keeps mails while no mail server is configured. */
  readonly mailFolder: string;
  /** How each service is reached over gRPC; empty in one process. */
  readonly peers: Readonly<Record<string, string>>;
}

/** A component without a port of its own must not take the one of the process that starts the stack. */
const notInherited = new Set(['PORT', 'GRPC_PORT']);

/**
 * The variables of one component: those of the process that starts the stack (log level, traces, limits, processors, failpoints),
 * then the component's own. Each gets its own key, database role and NATS user, the secrets that it uses, and no others.
 */
export function componentVariables(inherited: Variables, place: ComponentPlace, shared: SharedPlace): Variables {
  const { secrets, processor } = shared;
  const kept = Object.entries(inherited).filter(([name]) => !notInherited.has(name));
  const peers = Object.entries(shared.peers).map(([name, url]) => [`${name.toUpperCase()}_URL`, url]);
  const all: Variables = {
    ELIGO_WEBHOOK_TARGETS: 'loopback',
    ...Object.fromEntries(kept),
    HOST: place.name === 'gateway' ? gatewayHost(inherited) : '127.0.0.1',
    ADMIN_PORT: String(place.adminPort),
    ...(place.port === undefined ? {} : { [place.name === 'gateway' ? 'PORT' : 'GRPC_PORT']: String(place.port) }),
    [`${place.name.toUpperCase()}_DATABASE_URL`]: place.databaseUrl,
    NATS_URL: place.natsUrl,
    ELIGO_NATS_STORE_GB: natsStore(inherited),
    ELIGO_KEYRING: secrets.keyring,
    ELIGO_SERVICE_KEY: secrets.privateKeys[place.name],
    ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(secrets.publicKeys),
    ELIGO_OPERATOR_PUBLIC_KEY: secrets.operatorPublicKey,
    ELIGO_SANDBOX_URL: processor.url,
    ELIGO_SANDBOX_KEY: processor.key,
    ELIGO_SANDBOX_EVENTS_SECRET: secrets.sandboxEventsSecret,
    ELIGO_PUBLIC_URL: inherited.ELIGO_PUBLIC_URL || shared.publicUrl,
    ELIGO_PAGE_KEY: secrets.pageKey,
    ELIGO_DISK_FOLDER: inherited.ELIGO_DISK_FOLDER || shared.home,
    ELIGO_MAIL_FOLDER: mailFolder(inherited, shared),
    ELIGO_SANDBOX_PUBLIC_URL: inherited.ELIGO_SANDBOX_PUBLIC_URL || processor.url,
    ...Object.fromEntries(peers),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => isGivenTo(place.name, name)));
}

// Of a server that the stack did not start it knows nothing.
function natsStore({ ELIGO_NATS_STORE_GB: given, NATS_URL }: Variables): string | undefined {
  return given?.trim() || (NATS_URL ? undefined : defaultNatsStoreGb);
}

// In production a mail that only a folder gets would be lost without a word: there mails wait for a server. They wait as well where the folder is given empty.
function mailFolder(inherited: Variables, shared: SharedPlace): string {
  const { ELIGO_SMTP_URL, ELIGO_SMTP_URL_FILE, ELIGO_MAIL_FOLDER } = inherited;
  if (ELIGO_SMTP_URL || ELIGO_SMTP_URL_FILE || ELIGO_MAIL_FOLDER !== undefined) return ELIGO_MAIL_FOLDER ?? '';
  return inherited.ELIGO_ENV === 'production' ? '' : shared.mailFolder;
}
