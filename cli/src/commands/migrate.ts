import { openDatabase, unscoped } from '@eligo/postgres';
import {
  type ComponentName,
  componentNames,
  loadCompositions,
  perComponent,
  prepareDatabase,
  secretsOf,
} from '@eligo/stack';
import { type Command, UsageError } from '../command.ts';
import { recordCommandIn } from '../recorded-command.ts';
import { runningStack } from '../running-stack.ts';
import { variable } from '../variable.ts';

/** The database's roles, schemas and migrations. */
export const migrateCommands: readonly Command[] = [
  {
    name: 'migrate',
    usage: '[--service SERVICE] [--new-passwords]',
    summary:
      'Creates roles and schemas and applies pending migrations. Uses DATABASE_URL and <SERVICE>_DATABASE_PASSWORD, or the running stack.',
    options: { service: { type: 'string' }, 'new-passwords': { type: 'boolean' } },
    async run(given) {
      const service = given.text('service');
      const only = service === undefined ? componentNames : [componentNamed(service)];
      const { migrations } = await loadCompositions();
      const reached = target();
      const before = await recordWhereKept(reached.adminUrl, only);
      const { applied } = await prepareDatabase({
        ...reached,
        newPasswords: given.flag('new-passwords'),
        migrations,
        only,
      });
      // A schema that had no audit log before has one now.
      await recordWhereKept(
        reached.adminUrl,
        only.filter((name) => !before.includes(name)),
      );
      const lines = only.map(
        (name) => `${name}: ${applied[name]?.length ? applied[name].join(', ') : 'nothing to do'}`,
      );
      return { json: { applied }, lines };
    },
  },
];

// Records the command in each of these schemas that has an audit log. Returns their names.
async function recordWhereKept(url: string, schemas: readonly ComponentName[]): Promise<ComponentName[]> {
  const kept: ComponentName[] = [];
  for (const schema of schemas) {
    const database = openDatabase({ url, schema, applicationName: 'eligo migrate' });
    try {
      const [row] = await database.rows(auditLog, null, [`${schema}.operator_actions`]);
      if (row?.name == null) continue;
      await recordCommandIn(schema, database);
      kept.push(schema);
    } finally {
      await database.close();
    }
  }
  return kept;
}

const auditLog = unscoped<{ name: string | null }>('cli_audit_log', 'select to_regclass($1)::text as name');

function target() {
  const adminUrl = variable('DATABASE_URL');
  if (!adminUrl) {
    const { home, file } = runningStack();
    return {
      adminUrl: file.postgres,
      installation: file.installation,
      passwords: secretsOf(home).databasePasswords,
    };
  }
  // A role without a password given keeps the one it has.
  const passwordOf = (name: ComponentName | 'owner') => variable(`${name.toUpperCase()}_DATABASE_PASSWORD`);
  const installation = variable('ELIGO_INSTALLATION');
  return { adminUrl, installation, passwords: { ...perComponent(passwordOf), owner: passwordOf('owner') } };
}

function componentNamed(name: string): ComponentName {
  const known = componentNames.find((candidate) => candidate === name);
  if (!known) throw new UsageError(`--service must be one of ${componentNames.join(', ')}`);
  return known;
}
