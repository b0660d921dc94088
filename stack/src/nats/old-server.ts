import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { isOldServer, leastWellVersion } from '@eligo/events/old-server';

/** Says so when a server runs with Eligo, but is older than it should be. */
export function tellIfOld(command: string, onNews: (text: string) => void): void {
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  tellVersion(command, stdout ?? '', onNews);
}

/** The same of the server behind NATS_URL. Components say themselves that it is no URL, or why they do not reach a server: neither is news here. */
export async function tellIfOldAt(natsUrl: string, onNews: (text: string) => void): Promise<void> {
  const first = natsUrl.split(',')[0]?.trim() ?? '';
  // The error of `new URL` would show the password.
  if (!URL.canParse(first)) return;
  const { hostname, port } = new URL(first);
  tellVersion('the NATS server behind NATS_URL', await greetingOf(hostname, Number(port || 4222)), onNews);
}

function tellVersion(name: string, text: string, onNews: (text: string) => void): void {
  if (!isOldServer(text)) return;
  const version = /\d+\.\d+\.\d+/.exec(text)?.[0];
  onNews(`${name} is version ${version}; use ${leastWellVersion} or newer in production`);
}

const greetingWithinMs = 2_000;
const mostGreetingCharacters = 100_000;

// A server begins each connection with a line that has its version, unless TLS comes first. Empty if there is none in time.
function greetingOf(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
    let text = '';
    const end = () => {
      socket.destroy();
      resolve(/^INFO .*?"version":\s*"([^"]*)"/.exec(text)?.[1] ?? '');
    };
    socket.setTimeout(greetingWithinMs, end);
    socket.setEncoding('utf8');
    socket.on('error', end);
    socket.on('end', end);
    socket.on('data', (part: string) => {
      text += part;
      if (text.includes('\n') || text.length > mostGreetingCharacters) end();
    });
  });
}
