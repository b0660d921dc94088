import { existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Constellation } from '@eligo/testkit';

/** A disk that the test can fill without the rights of root: Eligo's look at its free bytes, and Postgres' answer to writes that add events. */
export interface FillableDisk {
  /** What the constellation is started with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Has Postgres answer as the disk is; once, after the start. */
  attach(eligo: Constellation): Promise<void>;
  fill(eligo: Constellation): Promise<void>;
  makeRoom(eligo: Constellation): Promise<void>;
  remove(): void;
}

const schemas = ['gateway', 'catalog', 'checkout', 'billing', 'refunds', 'webhooks'];

export function fillableDisk(): FillableDisk {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-disk-'));
  const path = join(folder, 'disk');
  // A file system of the kernel's own has no free bytes.
  const fullPlace = existsSync('/proc/self') ? '/proc' : '/dev';
  const lead = (place: string) => {
    symlinkSync(place, `${path}.new`);
    renameSync(`${path}.new`, path);
  };
  lead(folder);
  const setFull = (eligo: Constellation, isFull: boolean) =>
    eligo.database.admin('update disk.state set is_full = $1', [isFull]);
  return {
    environment: { ELIGO_DISK_FOLDER: path, ELIGO_DISK_LEAST_FREE_MB: '1' },
    async attach({ database }) {
      const triggers = schemas.map(
        (schema) =>
          `create trigger disk_is_full before insert on ${schema}.outbox for each statement execute function disk.write();`,
      );
      await database.admin(`
        create schema disk;
        create table disk.state (is_full boolean not null);
        insert into disk.state values (false);
        grant usage on schema disk to public;
        create function disk.write() returns trigger language plpgsql security definer as $$ begin
          if (select is_full from disk.state) then
            raise exception 'could not extend file: No space left on device' using errcode = '53100';
          end if;
          return null;
        end $$;
        ${triggers.join('\n')}`);
    },
    async fill(eligo) {
      await setFull(eligo, true);
      lead(fullPlace);
    },
    async makeRoom(eligo) {
      lead(folder);
      await setFull(eligo, false);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
