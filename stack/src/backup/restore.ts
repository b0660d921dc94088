import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { makeHome, readJsonFile, writePrivateFile } from '../home.ts';
import { choosePlace, clusterIn, type Surroundings } from '../postgres/place.ts';
import { postgresUser, type RunUser } from '../postgres/user.ts';
import { type BackupNote, fingerprintOf, type KeptSecrets, noteName } from './back-up.ts';

/**
 * Puts a backup into an empty home. JetStream starts empty there, so that no consumer is ahead of the database: the relays fill the streams from
 * the outboxes.
 */
export async function restore(
  root: string,
  sources: { readonly folder: string; readonly secretsFile: string },
  machine: { readonly user?: RunUser; readonly surroundings?: Surroundings } = {},
): Promise<BackupNote> {
  const { folder, secretsFile } = sources;
  const note = readJsonFile(join(folder, noteName)) as BackupNote | undefined;
  if (note === undefined) throw new Error(`${folder} has no ${noteName}; it is not a whole backup`);
  if (note.format !== 1) throw new Error(`${folder} was made by another release of Eligo`);
  const kept = readJsonFile(secretsFile) as KeptSecrets | undefined;
  if (kept === undefined) throw new Error(`${secretsFile} is not there; the data cannot be opened without its secrets`);
  if (fingerprintOf(kept) !== note.secrets_fingerprint) {
    throw new Error(`The secrets in ${secretsFile} are not those of this backup (made ${note.created_at})`);
  }
  const held = state.find((name) => existsSync(join(root, name)));
  if (held !== undefined) throw new Error(`${root} has data already (${held}); restore into an empty home`);
  const home = makeHome(root);
  const user = machine.user ?? postgresUser();
  const place = choosePlace(home, user, machine.surroundings);
  const draft = `${clusterIn(place.data)}.restored`;
  cpSync(join(folder, 'postgres'), draft, { recursive: true });
  giveTo(user, draft);
  if (existsSync(join(folder, 'sandbox'))) cpSync(join(folder, 'sandbox'), home.sandbox, { recursive: true });
  mkdirSync(home.run, { recursive: true, mode: 0o700 });
  writePrivateFile(home.secretsFile, `${JSON.stringify(kept.secrets, undefined, 2)}\n`);
  if (kept.demo) writePrivateFile(join(home.root, 'demo.json'), `${JSON.stringify(kept.demo, undefined, 2)}\n`);
  // Last: a restore that was cut short leaves no cluster that could start.
  renameSync(draft, clusterIn(place.data));
  return note;
}

/** What a home has as soon as a stack has run in it. */
const state = ['secrets.json', 'demo.json', 'stack.json', 'outside.json', 'postgres', 'nats', 'sandbox'];

// Postgres refuses a folder that others may read, wherever the backup lay in between.
function giveTo(user: RunUser | undefined, path: string): void {
  protect(user, path, 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) giveTo(user, inside);
    else protect(user, inside, 0o600);
  }
}

function protect(user: RunUser | undefined, path: string, mode: number): void {
  if (user) chownSync(path, user.uid, user.gid);
  chmodSync(path, mode);
}
