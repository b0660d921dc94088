import { spawnSync } from 'node:child_process';

/** Whom Postgres runs as: nobody in particular (the user who starts Eligo), or for root another user. */
export interface RunUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const ownSystemUser = 'eligo-postgres';

/**
 * Postgres refuses to run as root: then it runs as the system's `postgres` user, else as a system user made for it, else
 * as `nobody`. Undefined when Eligo is not run by root.
 */
export function postgresUser(): RunUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const found = lookUp('postgres') ?? lookUp(ownSystemUser) ?? addSystemUser() ?? lookUp('nobody');
  if (!found) throw new Error('Postgres cannot run as root and no other user exists; add a user named "postgres".');
  return found;
}

/** True when the user may pass into a folder, or execute a file. */
export function mayEnter(user: RunUser, path: string): boolean {
  const test = spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { uid: user.uid, gid: user.gid, cwd: '/' });
  return test.status === 0;
}

function lookUp(name: string): RunUser | undefined {
  const [uid, gid] = [idOf('-u', name), idOf('-g', name)];
  return uid && gid ? { name, uid, gid } : undefined;
}

function idOf(option: '-u' | '-g', name: string): number | undefined {
  const answer = spawnSync('id', [option, name], { encoding: 'utf8' });
  return answer.status === 0 ? Number(answer.stdout) : undefined;
}

function addSystemUser(): RunUser | undefined {
  const attempts: [string, string[]][] = [
    ['useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', ownSystemUser]],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', ownSystemUser]],
  ];
  for (const [command, args] of attempts) {
    if (spawnSync(command, args).status === 0) return lookUp(ownSystemUser);
  }
  return undefined;
}
