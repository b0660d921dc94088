import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Database, openDatabase } from '@eligo/postgres';
import { type ComponentName, databaseUrls, secretsOf } from '@eligo/stack';
import { apiClient, type PublicApi } from './public-api.ts';
import { recordCommandIn } from './recorded-command.ts';
import { runningStack } from './running-stack.ts';
import { requireUnbound } from './unbound-role.ts';
import { variable } from './variable.ts';

/** Where the gateway's database is: GATEWAY_DATABASE_URL, or the running stack's. */
export function gatewayDatabaseUrl(): string {
  return databaseUrlOf('gateway');
}

/** `<COMPONENT>_DATABASE_URL`; DATABASE_URL, for a role that may read all schemas; or the running stack's. */
function databaseUrlOf(component: ComponentName): string {
  const given = variable(`${component.toUpperCase()}_DATABASE_URL`) ?? variable('DATABASE_URL');
  if (given) return given;
  const { home, file } = runningStack();
  return databaseUrls(file.postgres, secretsOf(home).databasePasswords, file.installation).components[component];
}

// What fails beside the statements is the nudge to the relay, which looks by itself anyway.
const onError = () => undefined;

/** Does something with the gateway's database, where accounts and keys are. */
export function withAccounts<Value>(work: (database: Database) => Promise<Value>): Promise<Value> {
  return withDatabase('gateway', gatewayDatabaseUrl(), work);
}

/** Does something with the catalog's database: CATALOG_DATABASE_URL, or the running stack's. */
export function withCatalog<Value>(work: (database: Database) => Promise<Value>): Promise<Value> {
  return withDatabase('catalog', databaseUrlOf('catalog'), work);
}

/** Does something in the schema of a component. */
export function withComponent<Value>(
  component: ComponentName,
  work: (database: Database) => Promise<Value>,
): Promise<Value> {
  return withDatabase(component, databaseUrlOf(component), work);
}

/** DATABASE_URL, or the running stack's: a superuser, or a role with BYPASSRLS, for what is about all schemas and accounts. */
export function adminDatabaseUrl(): string {
  return variable('DATABASE_URL') ?? runningStack().file.postgres;
}

/**
 * Where mails may be kept as files: ELIGO_MAIL_FOLDER and, without DATABASE_URL, the running stack's folder and `mail/` of its home, which has mails from before a
 * mail server was configured. Throws if ELIGO_MAIL_FOLDER names no folder.
 */
export function mailFolders(): string[] {
  const given = variable('ELIGO_MAIL_FOLDER');
  if (given && !statSync(given, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(`ELIGO_MAIL_FOLDER names no folder: ${given}`);
  }
  return [...new Set([given, ...foldersOfStack()].flatMap((folder) => (folder ? [resolve(folder)] : [])))];
}

function foldersOfStack(): (string | undefined)[] {
  if (variable('DATABASE_URL')) return [];
  const { home, file } = runningStack();
  return [file.mail_folder, home.mail];
}

/** NATS_URL, for a user who may delete streams, or the running stack's. */
export function natsPlace(): { url: string; tlsFolder: string | undefined } {
  return { url: variable('NATS_URL') ?? runningStack().file.nats, tlsFolder: variable('ELIGO_NATS_TLS_FOLDER') };
}

/** Does something in a component's schema for all accounts at once, as a role that row-level security does not bind. */
export function withEverything<Value>(
  component: ComponentName,
  work: (database: Database) => Promise<Value>,
): Promise<Value> {
  return withDatabase(component, adminDatabaseUrl(), async (database) => {
    await requireUnbound(database);
    return work(database);
  });
}

/** Records the command in a component's schema, and refuses a role that row-level security binds: for work on a connection of its own. */
export async function checkAccess(component: ComponentName): Promise<void> {
  await withEverything(component, async () => undefined);
}

async function withDatabase<Value>(
  schema: string,
  url: string,
  work: (database: Database) => Promise<Value>,
): Promise<Value> {
  const database = openDatabase({ url, applicationName: 'eligo command line', schema, max: 1, onError });
  try {
    await recordCommandIn(schema, database);
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The public interface with a test key: ELIGO_URL and ELIGO_API_KEY, or the running stack's demo account. */
export function publicApi(): PublicApi {
  const [url, key] = [variable('ELIGO_URL'), variable('ELIGO_API_KEY')];
  if (url && key) return apiClient(url, key);
  const { file } = runningStack();
  return apiClient(url || file.gateway, key || file.test_api_key);
}
