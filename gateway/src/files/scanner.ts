import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Failure } from '@eligo/failures';

/** A scan of one file, as it arrives. */
export interface Scan {
  write(chunk: Buffer): Promise<void>;
  /** Ends the file and waits for the verdict. Throws the 422 `file_infected`, or `service_unavailable` where there is none. */
  verdict(): Promise<void>;
  /** Gives up without a verdict. */
  abandon(): void;
}

/** What looks for viruses in files; nothing where no scanner is configured. */
export interface Scanner {
  begin(): Promise<Scan>;
}

/** A clamd, or what speaks its INSTREAM command (clamd(8)), by TCP. */
export function clamd(address: { readonly host: string; readonly port: number }): Scanner {
  return {
    async begin() {
      const socket = connect({ ...address, timeout: silenceMs });
      const told = replyOf(socket);
      // Each call below waits for the reply, or for what it means that there is none.
      told.catch(() => undefined);
      await guarded(once(socket, 'connect'), told);
      socket.write('zINSTREAM\0');
      return {
        async write(chunk) {
          const length = Buffer.alloc(4);
          length.writeUInt32BE(chunk.length);
          socket.write(length);
          if (!socket.write(chunk)) await guarded(once(socket, 'drain'), told);
        },
        async verdict() {
          socket.write(Buffer.alloc(4));
          const reply = await told;
          if (/^stream: .* FOUND$/.test(reply))
            throw Failure.invalid(['body', 'file'], 'file_infected', 'file_infected');
          if (reply !== 'stream: OK') throw unavailable(new Error('The virus scanner gave no verdict'));
        },
        abandon: () => socket.destroy(),
      };
    },
  };
}

/** A scanner that says nothing for so long is taken for one that is down. */
const silenceMs = 15_000;
/** A verdict is a line. */
const maxReplyBytes = 1_024;

async function replyOf(socket: Socket): Promise<string> {
  socket.on('timeout', () => socket.destroy(new Error('The virus scanner does not answer')));
  let reply = '';
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      reply += chunk.toString('latin1');
      const end = reply.indexOf('\0');
      if (end >= 0) return reply.slice(0, end);
      if (reply.length > maxReplyBytes) break;
    }
  } catch (error) {
    throw unavailable(error);
  } finally {
    socket.destroy();
  }
  throw unavailable(new Error('The virus scanner ended the connection'));
}

// A scanner that replies before the end of the file has refused it, or is gone: nothing is waited for any longer.
async function guarded(event: Promise<unknown>, told: Promise<string>): Promise<void> {
  const happened = event.catch((error: unknown) => {
    throw unavailable(error);
  });
  happened.catch(() => undefined);
  const early = told.then((reply) => {
    throw unavailable(new Error(`The virus scanner stopped early: ${reply.slice(0, 80)}`));
  });
  await Promise.race([happened, early]);
}

function unavailable(cause: unknown): Failure {
  return new Failure('service_unavailable', { retryAfterSeconds: 5, cause });
}
