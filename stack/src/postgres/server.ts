import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '@eligo/ports';
import { processIdentity } from '@eligo/processes/processes';
import { type Child, lastLogLines, startChild } from '../children/child.ts';
import { postgresSignals, stopProcess } from '../children/record.ts';
import { type Supervised, supervise } from '../children/supervise.ts';
import { type Home, logFile } from '../home.ts';
import { type Binaries, postgresBinaries } from './binaries.ts';
import { choosePlace, clusterIn, lockLines, serverPid } from './place.ts';
import { postgresUser, type RunUser } from './user.ts';

/** The embedded server: its superuser's URL over TCP, and the process. */
export interface PostgresServer {
  readonly url: string;
  /** The folder of its Unix socket; undefined where the path would be too long, and there is TCP alone. */
  readonly socketFolder: string | undefined;
  readonly process: Supervised;
}

/** Services' pools, relays and the tools beside them; a test run keeps several constellations on one server. */
const maxConnections = 300;

/** What Eligo wants of any Postgres; the compose file has the same. */
export const postgresSettings = {
  max_connections: String(maxConnections),
  // Short queries only: compiling them costs more than it saves.
  jit: 'off',
  // Until a table is analyzed every plan is a guess (ADR 3), and a new installation's tables grow from nothing.
  autovacuum_naptime: '5s',
  // Analyzes a table again when it has grown by half, not by a tenth: after each time, every connection plans its statements again.
  autovacuum_analyze_scale_factor: '0.5',
};

const settings = {
  ...postgresSettings,
  listen_addresses: '127.0.0.1',
  // fsync stays on, as it comes: what was committed must survive a crash, here as well.
  password_encryption: 'scram-sha-256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_wal_size: '2GB',
};

/** Starts the embedded Postgres on a free port of the loopback interface, and starts it again if it dies. */
export async function startPostgres(
  home: Home,
  options: {
    password: string;
    onTrouble: (text: string) => void;
    onRestarted?: (child: Child) => void;
    /** Settings of its own, over those that every embedded server has. */
    settings?: Readonly<Record<string, string>>;
  },
): Promise<PostgresServer> {
  const user = postgresUser();
  const place = choosePlace(home, user);
  for (const text of place.unclaimed) options.onTrouble(text);
  const binaries = postgresBinaries(place.copies, user);
  const logPath = logFile(home, 'postgres');
  // A cluster made by an initdb that was cut short is no cluster: the folder takes its name as the last step.
  const data = clusterIn(place.data);
  if (!existsSync(join(data, 'made'))) await makeCluster({ binaries, data, user, password: options.password, logPath });
  const port = await freePort();
  const socketFolder = socketFolderIn(place.data, port);
  const start = async () => {
    await stopLeftServer(data);
    removeLockOfZombie(data);
    removeLeftSockets(place.data);
    const child = await startChild({
      name: 'postgres',
      command: binaries.postgres,
      args: [
        '-D',
        data,
        '-p',
        String(port),
        '-c',
        `unix_socket_directories=${socketFolder ?? ''}`,
        ...Object.entries({ ...settings, ...options.settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      environment: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      folder: '/',
      logPath,
      runFolder: home.run,
      signals: postgresSignals,
      ...(user ? { user } : {}),
    });
    await becameReady(child, data, logPath);
    return child;
  };
  const process_ = await supervise(start, {
    onTrouble: options.onTrouble,
    onRestarted: options.onRestarted ?? (() => undefined),
  });
  const url = `postgres://postgres:${options.password}@127.0.0.1:${port}/postgres`;
  return { url, socketFolder, process: process_ };
}

/** What fits into the address of a Unix socket on Linux. */
const longestSocketPath = 107;

// Postgres takes a comma for the end of a folder's name. Nobody but its own user, and root, may enter the folder.
function socketFolderIn(folder: string, port: number): string | undefined {
  const fits = Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= longestSocketPath;
  return fits && !/[,"\s]/.test(folder) ? folder : undefined;
}

async function makeCluster(options: {
  binaries: Binaries;
  data: string;
  user: RunUser | undefined;
  password: string;
  logPath: string;
}): Promise<void> {
  const { data, user } = options;
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { mode: 0o700 });
  const passwordFile = `${data}.password`;
  writeFileSync(passwordFile, options.password, { mode: 0o600 });
  if (user) for (const path of [data, passwordFile]) chownSync(path, user.uid, user.gid);
  try {
    await runInitdb(options, passwordFile);
    writeFileSync(join(data, 'made'), '');
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function runInitdb(options: { binaries: Binaries; data: string; user: RunUser | undefined }, passwordFile: string) {
  const args = [
    '-D',
    options.data,
    '-U',
    'postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
  ];
  // The same everywhere, whatever the system's own locales are: bytes decide the order, Unicode decides lower case.
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-instructions'];
  return new Promise<void>((resolve, reject) => {
    const initdb = spawn(options.binaries.initdb, [...args, ...locale], {
      cwd: '/',
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(options.user ?? {}),
    });
    let words = '';
    initdb.stderr.setEncoding('utf8').on('data', (text: string) => {
      words += text;
    });
    initdb.once('error', reject);
    initdb.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`initdb failed: ${words.trim()}`))));
  });
}

// A server that an earlier run left, and did not live to write down.
async function stopLeftServer(data: string): Promise<void> {
  const pid = serverPid(data);
  const identity = pid === undefined ? undefined : processIdentity(pid);
  if (pid !== undefined && identity !== undefined) await stopProcess(pid, identity, postgresSignals, 10_000);
}

// A server that was killed and that nothing has reaped still has its pid, and Postgres would take its lock file for that of a running one.
function removeLockOfZombie(data: string): void {
  const [pid] = lockLines(data);
  // A process that is there and has no identity has ended.
  if (pid !== undefined && existsSync(`/proc/${pid}`) && processIdentity(Number(pid)) === undefined)
    rmSync(join(data, 'postmaster.pid'));
}

// A server that was killed leaves its socket, and the next one has another port.
function removeLeftSockets(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith('.s.PGSQL.')) rmSync(join(folder, name));
}

/** Recovery after a crash replays what was not check-pointed: at most max_wal_size of it. */
const readyWithinMs = 120_000;

// The server writes its own state into the eighth line of its lock file.
async function becameReady(child: Child, data: string, logPath: string): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  while (!child.hasEnded()) {
    const lines = lockLines(data);
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return;
    if (Date.now() > deadline) {
      await child.stop(1_000);
      throw new Error(
        `Postgres is not ready after ${readyWithinMs / 1000} s. The end of its log, ${logPath}:\n${lastLogLines(logPath)}`,
      );
    }
    await pause(10);
  }
  throw new Error(`Postgres exited during startup. The end of its log, ${logPath}:\n${lastLogLines(logPath)}`);
}
