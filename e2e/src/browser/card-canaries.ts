import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectNats } from '@eligo/events';
import type { Constellation } from '@eligo/testkit';

/** A text as a program may keep it: with each separator between its groups of four, encoded for a URL, a form or JSON, and each as the bytes of a column. */
export function formsOf(number: string): string[] {
  const groups = number.replaceAll(/[\s-]/g, '').match(/.{1,4}/g) ?? [];
  const plain = ['', ' ', '-', '.', '\u00a0'].map((separator) => groups.join(separator));
  const encoded = ['+', '%20', '%2D', '%2B', '%C2%A0', '%2520', '\\u0020', '\\u00a0'].map((separator) =>
    groups.join(separator),
  );
  const digits = [...groups.join('')].map((digit) => `%${digit.charCodeAt(0).toString(16)}`).join('');
  const texts = [...plain, ...encoded, digits];
  const bytes = texts.map((text) => Buffer.from(text).toString('hex'));
  return [...texts, ...bytes];
}

/** Whether a text has one of these forms, in either case. */
export function hasForm(text: string, forms: readonly string[]): boolean {
  const whole = text.toLowerCase();
  return forms.some((form) => whole.includes(form.toLowerCase()));
}

/** The tables and logs of an Eligo that have one of these forms. Every column of every schema, as text and as bytes. */
export async function placesWith(eligo: Constellation, forms: readonly string[]): Promise<string[]> {
  const names = await tableNames(eligo);
  const found = await Promise.all(
    names.map(async (name) => {
      const rows = await eligo.database.admin(
        `select from ${name} t cross join lateral (select lower(t::text) as whole offset 0) w
         where exists (select from unnest($1::text[]) form where position(lower(form) in w.whole) > 0) limit 1`,
        [forms],
      );
      return rows.length > 0 ? [name] : [];
    }),
  );
  return [...found.flat(), ...(logsOf(eligo).some((text) => hasForm(text, forms)) ? ['logs'] : [])];
}

/** The logs of an Eligo. */
export function logsOf(eligo: Constellation): string[] {
  return readdirSync(eligo.home.logs).map((name) => readFileSync(join(eligo.home.logs, name), 'utf8'));
}

/** The messages of all streams of an Eligo, with their headers, as text. */
export async function messagesOf({ nats }: Constellation): Promise<string[]> {
  const { manager, jetstream, close } = await connectNats({ url: nats, service: 'canaries', logger: quiet });
  try {
    const texts: string[] = [];
    for await (const { config, state } of manager.streams.list()) {
      if (state.messages === 0) continue;
      const consumer = await jetstream.consumers.get(config.name);
      for await (const { subject, data, headers, info } of await consumer.fetch({ max_messages: state.messages })) {
        texts.push(`${subject} ${[...(headers ?? [])]} ${Buffer.from(data).toString('utf8')}`);
        if (info.pending === 0) break;
      }
    }
    return texts;
  } finally {
    await close();
  }
}

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

async function tableNames(eligo: Constellation): Promise<string[]> {
  const tables = await eligo.database.admin<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  return tables.map(({ name }) => name);
}
