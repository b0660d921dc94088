import { type Database, unscoped } from '@eligo/postgres';

/** Refuses a role that row-level security binds: it would see no rows of any account, and so find nothing and say that all is well. */
export async function requireUnbound(database: Database): Promise<void> {
  const role = await database.row(unbound, null);
  if (role?.unbound !== true) throw new Error('This command needs a superuser or a role with BYPASSRLS');
}

const unbound = unscoped<{ unbound: boolean }>(
  'role.unbound',
  'select rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user',
);
