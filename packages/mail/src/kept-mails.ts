import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Keeps a mail as a file, whole or not at all. */
export function keepMail(folder: string, id: string, message: Buffer): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${id}.eml`);
  writeFileSync(`${file}.part`, message, { mode: 0o600 });
  renameSync(`${file}.part`, file);
}

/** The mails of which a folder has a file, or what a crash left of one. */
export function keptMails(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return [...new Set(readdirSync(folder).flatMap((name) => /^(.+)\.eml(?:\.part)?$/.exec(name)?.[1] ?? []))];
}

export function deleteKeptMail(folder: string, id: string): void {
  for (const name of [`${id}.eml`, `${id}.eml.part`]) rmSync(join(folder, name), { force: true });
}
