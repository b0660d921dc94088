import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * One keep-alive HTTP connection that sends a prepared request and reads its answer: what a client needs and no more, since on a machine of
 * two cores the load takes its share from what it measures.
 */
export class Connection {
  readonly #socket: Socket;
  #pending: Buffer = Buffer.alloc(0);
  #answered: ((answer: Answer) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('the server closed the connection')));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** Sends the whole text of a request; at most one is in flight. */
  send(request: string | Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const answer = parseAnswer(this.#pending);
    if (answer === undefined) return;
    this.#pending = this.#pending.subarray(answer.bytes);
    this.#answered?.(answer);
  }
}

/** An answer as far as the load looks at it. */
export interface Answer {
  readonly status: number;
  readonly bytes: number;
  readonly body: () => string;
}

/** The first whole answer in what has arrived, or undefined. */
export function parseAnswer(received: Buffer): Answer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = received.toString('latin1', 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const status = Number(head.slice(9, 12));
  const start = end + 4;
  if (length === undefined) {
    if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`);
    const chunks = chunksOf(received, start);
    if (chunks === undefined) return undefined;
    return { status, bytes: chunks.end, body: () => Buffer.concat(chunks.parts).toString('utf8') };
  }
  const bytes = start + Number(length);
  if (received.length < bytes) return undefined;
  return { status, bytes, body: () => received.toString('utf8', start, bytes) };
}

/** The parts of an answer that comes in chunks, such as a report in CSV, and where it ends; undefined while some are missing. Eligo sends no trailers. */
function chunksOf(received: Buffer, start: number): { parts: Buffer[]; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = received.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(received.toString('latin1', at, lineEnd), 16);
    if (!(length >= 0)) throw new Error('a chunk without a length');
    const end = lineEnd + 2 + length + 2;
    if (received.length < end) return undefined;
    if (length === 0) return { parts, end };
    parts.push(received.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}
