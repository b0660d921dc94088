import pg from 'pg';
import { connectionTo } from './connection-tls.ts';

/**
 * A schema as text, read from the server's catalog tables: what the migrations come to, in an order that does not depend on theirs. It is
 * meant to be read and compared, not to be run. `url` is a connection that may see everything (the owner's or a superuser's).
 */
export async function dumpSchema(url: string, schema: string): Promise<string> {
  const client = new pg.Client({ ...connectionTo(url), application_name: `dump ${schema}` });
  client.on('error', (error) => process.emitWarning(`dumping ${schema}: ${error.message}`));
  await client.connect();
  try {
    // With only the schema itself on the path, names in it are written without it and all others with theirs.
    await client.query(`set search_path = ${client.escapeIdentifier(schema)}`);
    const sections = [
      await lines(client, grantsOnSchema, schema),
      await lines(client, types, schema),
      await tables(client, schema),
      await lines(client, views, schema),
      await lines(client, functions, schema),
      await lines(client, defaultGrants, schema),
    ];
    return `${[`-- Schema ${schema}, as its migrations leave it.`, ...sections.flat()].join('\n\n')}\n`;
  } finally {
    await client.end();
  }
}

async function lines(client: pg.Client, text: string, name: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(text, [name]);
  return rows.map(({ line }) => line);
}

async function tables(client: pg.Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string; oid: string; head: string }>(tableHeads, [schema]);
  const texts: string[] = [];
  for (const { oid, head } of rows) {
    const parts: string[] = [];
    for (const query of [columns, constraints]) parts.push(...(await lines(client, query, oid)));
    const body = parts.map((part) => `  ${part}`).join(',\n');
    const after: string[] = [];
    for (const query of [rowSecurity, policies, indexes, triggers, tableGrants])
      after.push(...(await lines(client, query, oid)));
    texts.push([`${head} (\n${body}\n);`, ...after].join('\n'));
  }
  return texts;
}

const acl = (items: string, owner: string, kind: string) => `
  select case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end as grantee,
         string_agg(lower(a.privilege_type), ', ' order by a.privilege_type) as privileges
  from aclexplode(coalesce(${items}, acldefault('${kind}', ${owner}))) a
  where a.grantee <> ${owner} group by 1`;

const grantsOnSchema = `
  select format('grant %s on schema %I to %I;', g.privileges, n.nspname, g.grantee) as line
  from pg_namespace n, lateral (${acl('n.nspacl', 'n.nspowner', 'n')}) g
  where n.nspname = $1 order by 1`;

const types = `
  select format('create type %I as enum (%s);', t.typname, string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)) as line
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = to_regnamespace(quote_ident($1)) group by t.typname order by t.typname`;

const tableHeads = `
  select c.relname as name, c.oid::text as oid,
         format('create %stable %I', case c.relpersistence when 'u' then 'unlogged ' else '' end, c.relname) as head
  from pg_class c
  where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('r', 'p') order by c.relname`;

const columns = `
  select format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then format(' collate %I', co.collname) else '' end,
    case when d.adbin is null then ''
         when a.attgenerated <> '' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
         else ' default ' || pg_get_expr(d.adbin, d.adrelid) end,
    case when a.attnotnull then ' not null' else '' end) as line
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  left join pg_collation co on co.oid = a.attcollation
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`;

const constraints = `
  select format('constraint %I %s', conname, pg_get_constraintdef(oid)) as line
  from pg_constraint where conrelid = $1::oid and contype in ('p', 'u', 'f', 'c', 'x')
  order by position(contype::text in 'pufcx'), conname`;

const rowSecurity = `
  select format('alter table %I %s row level security;', relname, w) as line
  from pg_class, unnest(array_remove(array[
    case when relrowsecurity then 'enable' end, case when relforcerowsecurity then 'force' end], null)) w
  where oid = $1::oid`;

const policies = `
  select format('create policy %I on %I%s for %s to %s%s%s;', p.polname, c.relname,
    case when p.polpermissive then '' else ' as restrictive' end,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    (select string_agg(case r when 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ' order by r::oid::regrole::text) from unnest(p.polroles) r),
    coalesce(E'\\n  using (' || pg_get_expr(p.polqual, p.polrelid) || ')', ''),
    coalesce(E'\\n  with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')) as line
  from pg_policy p join pg_class c on c.oid = p.polrelid where p.polrelid = $1::oid order by p.polname`;

const indexes = `
  select pg_get_indexdef(i.indexrelid) || case when i.indisvalid then ';' else '; -- invalid' end
    || coalesce(E'\\ncomment on index ' || quote_ident(c.relname) || ' is ' || quote_literal(obj_description(c.oid, 'pg_class')) || ';', '') as line
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = $1::oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
  order by c.relname`;

const triggers = `
  select pg_get_triggerdef(oid) || ';' as line from pg_trigger where tgrelid = $1::oid and not tgisinternal order by tgname`;

const tableGrants = `
  select format('grant %s on %I to %I;', g.privileges, c.relname, g.grantee) as line
  from pg_class c, lateral (${acl('c.relacl', 'c.relowner', 'r')}) g where c.oid = $1::oid
  union all
  select format('grant %s on %I to %I;', string_agg(format('%s (%I)', lower(a.privilege_type), t.attname), ', ' order by a.privilege_type, t.attnum),
    c.relname, case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end)
  from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
  where c.oid = $1::oid and t.attnum > 0 group by c.relname, a.grantee
  order by 1`;

const views = `
  select format(E'create view %I as\\n%s', c.relname, pg_get_viewdef(c.oid)) as line
  from pg_class c where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('v', 'm') order by c.relname`;

const functions = `
  select rtrim(pg_get_functiondef(p.oid), E'\\n') || ';' || format(E'\\nalter function %I(%s) owner to %I;',
      p.proname, pg_get_function_identity_arguments(p.oid), pg_get_userbyid(p.proowner))
    || coalesce((select string_agg(format(E'\\ngrant %s on function %I(%s) to %I;', g.privileges, p.proname,
         pg_get_function_identity_arguments(p.oid), g.grantee), '' order by g.grantee)
       from (${acl('p.proacl', 'p.proowner', 'f')}) g), '')
    || coalesce(format(E'\\ncomment on function %I(%s) is ', p.proname, pg_get_function_identity_arguments(p.oid))
       || quote_literal(obj_description(p.oid, 'pg_proc')) || ';', '') as line
  from pg_proc p where p.pronamespace = to_regnamespace(quote_ident($1)) and p.prokind in ('f', 'p')
  order by p.proname, pg_get_function_identity_arguments(p.oid)`;

const defaultGrants = `
  select format('alter default privileges in schema %I grant %s on %s to %I;', n.nspname,
    string_agg(lower(a.privilege_type), ', ' order by a.privilege_type),
    case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' else 'types' end,
    pg_get_userbyid(a.grantee)) as line
  from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
  where n.nspname = $1 group by n.nspname, d.defaclobjtype, a.grantee order by 1`;
