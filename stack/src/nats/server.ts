import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '@eligo/ports';
import { type Child, lastLogLines, startChild } from '../children/child.ts';
import { type Supervised, supervise } from '../children/supervise.ts';
import { type Home, logFile, writePrivateFile } from '../home.ts';
import { findNatsServer } from './find-server.ts';
import { tellIfOld } from './old-server.ts';
import { watchNats } from './watch-nats.ts';

/** The embedded server: where it listens, and the process. */
export interface NatsServer {
  readonly host: string;
  readonly port: number;
  readonly process: Supervised;
}

/** What a configuration is made for. */
export interface NatsPlace {
  readonly host: string;
  readonly port: number;
  /** JetStream's folder. */
  readonly storeDir: string;
}

const readyWithinMs = 60_000;
/** A server whose JetStream hangs does not end by SIGTERM. One that works writes its state within a second. */
const hungAfterMs = 5_000;

/** Starts nats-server with JetStream on a free port of the loopback interface, and starts it again if it dies. */
export async function startNats(
  home: Home,
  options: {
    /** The text of the configuration file. */
    configuration: (place: NatsPlace) => string;
    onNews: (text: string) => void;
    onTrouble: (text: string) => void;
    onRestarted?: (child: Child) => void;
    longestRestartDelayMs?: number | undefined;
    port?: number;
    /** The URL of a user without limits, as which the server is watched. */
    watchUrl?: (place: NatsPlace) => string;
    watchEveryMs?: number;
  },
): Promise<NatsServer> {
  const command = await findNatsServer(home.bin, options.onNews);
  tellIfOld(command, options.onNews);
  const host = '127.0.0.1';
  const port = options.port ?? (await freePort(host));
  const storeDir = join(home.nats, 'jetstream');
  mkdirSync(storeDir, { recursive: true, mode: 0o700 });
  const configFile = join(home.nats, 'nats.conf');
  writePrivateFile(configFile, options.configuration({ host, port, storeDir }));
  const logPath = logFile(home, 'nats');
  const start = async () => {
    const child = await startChild({
      name: 'nats',
      command,
      args: ['--config', configFile],
      environment: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC' },
      folder: home.nats,
      logPath,
      runFolder: home.run,
    });
    await becameReady(child, host, port, logPath);
    return child;
  };
  const supervised = await supervise(start, {
    onTrouble: options.onTrouble,
    onRestarted: options.onRestarted ?? (() => undefined),
    longestRestartDelayMs: options.longestRestartDelayMs,
  });
  const { watchUrl, watchEveryMs, onTrouble } = options;
  if (watchUrl === undefined) return { host, port, process: supervised };
  const endWatch = watchNats({
    streamsFolder: join(storeDir, 'jetstream'),
    url: watchUrl({ host, port, storeDir }),
    isRunning: () => !supervised.current().hasEnded(),
    restart: () => supervised.current().stop(hungAfterMs),
    onTrouble,
    ...(watchEveryMs === undefined ? {} : { everyMs: watchEveryMs }),
  });
  const watchedProcess = {
    ...supervised,
    async stop(graceMs: number) {
      await endWatch();
      await supervised.stop(graceMs);
    },
  };
  return { host, port, process: watchedProcess };
}

// The server speaks first: its INFO says that it serves, once JetStream has read its files.
async function becameReady(child: Child, host: string, port: number, logPath: string): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  while (!child.hasEnded()) {
    if (await speaks(host, port)) return;
    if (Date.now() > deadline) {
      await child.stop(1_000);
      throw new Error(
        `nats-server is not ready after ${readyWithinMs / 1000} s. The end of its log, ${logPath}:\n${lastLogLines(logPath)}`,
      );
    }
    await pause(10);
  }
  throw new Error(`nats-server exited during startup. The end of its log, ${logPath}:\n${lastLogLines(logPath)}`);
}

function speaks(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const answer = (said: boolean) => {
      socket.destroy();
      resolve(said);
    };
    socket.once('data', (bytes) => answer(bytes.toString('latin1').startsWith('INFO ')));
    socket.once('error', () => answer(false));
    socket.once('close', () => answer(false));
  });
}
