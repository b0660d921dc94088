import { once } from 'node:events';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { AnswerReader, type HttpAnswer } from './answer-reader.ts';
import type { StreamedBody } from './file-form.ts';

/** A failure between us and the processor, before a complete answer was read. */
export class TransportError extends Error {
  readonly reason: 'timeout' | 'connection';
  /** True when no connection was made: the request cannot have arrived. */
  readonly neverSent: boolean;

  constructor(reason: TransportError['reason'], neverSent: boolean) {
    super(reason === 'timeout' ? 'no complete response in time' : 'the connection failed');
    this.name = 'TransportError';
    this.reason = reason;
    this.neverSent = neverSent;
  }
}

export interface Origin {
  readonly protocol: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

/** Connections to one server, kept between requests. One request at a time on each, and none is ever sent twice. */
export interface Connections {
  /**
   * Sends a whole request, or its head and then its body; the time is for waiting, connecting, sending and the whole answer. Rejects with a
   * TransportError.
   */
  exchange(request: string, timeoutMs: number, body?: StreamedBody): Promise<HttpAnswer>;
  close(): void;
}

/** More than this from one process would only queue at the processor. */
const maxConnections = 64;
const keepAliveProbeMs = 10_000;

export function openConnections(origin: Origin): Connections {
  const open = new Set<Connection>();
  const idle: Connection[] = [];
  // Bounded by time: each leaves with its deadline.
  const waiting = new Set<Exchange>();
  let session: Buffer | undefined;

  function connect(): Connection {
    const { protocol, host: given, port } = origin;
    const host = given.replace(/^\[(.*)\]$/, '$1');
    const socket =
      protocol === 'http'
        ? connectPlain({ host, port })
        : connectSecure({
            host,
            port,
            session,
            ALPNProtocols: ['http/1.1'],
            ...(isIP(host) === 0 && { servername: host }),
          });
    socket.on('session', (ticket: Buffer) => {
      session = ticket;
    });
    const connection = new Connection(socket, protocol === 'http' ? 'connect' : 'secureConnect', {
      free: () => {
        const next = waiting.values().next().value;
        if (next === undefined) idle.push(connection);
        else begin(next, connection);
      },
      gone: () => {
        open.delete(connection);
        const at = idle.indexOf(connection);
        if (at >= 0) idle.splice(at, 1);
        const next = waiting.values().next().value;
        if (next !== undefined) begin(next, connect());
      },
    });
    open.add(connection);
    return connection;
  }

  // The one used last, so that the others grow old and are closed.
  function takeIdle(): Connection | undefined {
    for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
      if (last.isFresh()) return last;
      last.close();
    }
    return undefined;
  }

  function begin(exchange: Exchange, connection: Connection): void {
    waiting.delete(exchange);
    connection.send(exchange);
  }

  return {
    exchange: (request, timeoutMs, body) =>
      new Promise((resolve, reject) => {
        const exchange: Exchange = {
          ...{ request, body },
          connection: undefined,
          resolve,
          reject,
          timer: setTimeout(() => {
            waiting.delete(exchange);
            if (exchange.connection !== undefined) exchange.connection.fail('timeout');
            else reject(new TransportError('timeout', true));
          }, timeoutMs),
        };
        const connection = takeIdle() ?? (open.size < maxConnections ? connect() : undefined);
        if (connection === undefined) waiting.add(exchange);
        else connection.send(exchange);
      }),
    close: () => {
      for (const exchange of waiting) {
        clearTimeout(exchange.timer);
        exchange.reject(new TransportError('connection', true));
      }
      waiting.clear();
      for (const connection of open) connection.close();
    },
  };
}

interface Exchange {
  readonly request: string;
  /** What follows the request. */
  readonly body: StreamedBody | undefined;
  connection: Connection | undefined;
  readonly timer: NodeJS.Timeout;
  resolve(answer: HttpAnswer): void;
  reject(error: TransportError): void;
}

interface Owner {
  /** It can take another request. */
  free(): void;
  gone(): void;
}

class Connection {
  readonly #socket: Socket;
  readonly #owner: Owner;
  #established = false;
  #exchange: Exchange | undefined;
  #reader = new AnswerReader();
  #freshUntilMs = 0;
  /** A body is on its way: an answer that comes before its end is an answer, but the connection is not used again. */
  #isSending = false;
  readonly #gone = new AbortController();

  constructor(socket: Socket, established: 'connect' | 'secureConnect', owner: Owner) {
    this.#socket = socket;
    this.#owner = owner;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveProbeMs);
    // What waits for an answer has a timer, which keeps the process alive; an idle connection must not.
    socket.unref();
    socket.once(established, () => {
      this.#established = true;
      if (this.#exchange !== undefined) this.#write(this.#exchange);
    });
    socket.on('data', (piece: Buffer) => this.#read(piece));
    // The error does not matter: the request fails because its connection is gone.
    socket.on('error', () => socket.destroy());
    socket.once('end', () => socket.destroy());
    socket.once('close', () => {
      this.#gone.abort();
      this.fail('connection');
      owner.gone();
    });
  }

  isFresh(): boolean {
    return performance.now() < this.#freshUntilMs && this.#socket.writable;
  }

  send(exchange: Exchange): void {
    exchange.connection = this;
    this.#exchange = exchange;
    // Nothing leaves before the server is known to be the one that was meant.
    if (this.#established) this.#write(exchange);
  }

  /** Gives up what is in flight, if anything is; its answer may still come, so the connection is not used again. */
  fail(reason: TransportError['reason']): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#socket.destroy();
    if (exchange === undefined) return;
    clearTimeout(exchange.timer);
    exchange.reject(new TransportError(reason, !this.#established));
  }

  close(): void {
    this.fail('connection');
  }

  #write(exchange: Exchange): void {
    const { request, body } = exchange;
    this.#socket.write(request);
    if (body === undefined) return;
    this.#isSending = true;
    this.#stream(exchange, body).then(
      () => {
        this.#isSending = false;
      },
      // Half a body must not be followed by another request. A request that has its answer fails no more.
      () => this.fail('connection'),
    );
  }

  async #stream(exchange: Exchange, body: StreamedBody): Promise<void> {
    for await (const piece of body.pieces()) {
      if (this.#exchange !== exchange) throw new Error('The request ended before its body was sent');
      // Rejects when the connection is gone.
      if (!this.#socket.write(piece)) await once(this.#socket, 'drain', { signal: this.#gone.signal });
    }
  }

  #read(piece: Buffer): void {
    const exchange = this.#exchange;
    const answer = exchange === undefined ? undefined : this.#parse(piece);
    // Unexpected bytes, or bytes that are not a response.
    if (exchange === undefined || answer === 'malformed') {
      this.fail('connection');
      return;
    }
    if (answer === undefined) return;
    clearTimeout(exchange.timer);
    this.#exchange = undefined;
    this.#reader = new AnswerReader();
    exchange.resolve(answer);
    if (answer.keepMs === 0 || this.#isSending) {
      this.#socket.destroy();
      return;
    }
    this.#freshUntilMs = performance.now() + answer.keepMs;
    this.#owner.free();
  }

  #parse(piece: Buffer): HttpAnswer | 'malformed' | undefined {
    try {
      return this.#reader.push(piece);
    } catch {
      return 'malformed';
    }
  }
}
