import * as http from 'node:http';
import * as https from 'node:https';
import { isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { Outcome } from '../../domain/attempt.ts';
import { hostOf, parseTarget, portOf, TargetRefused, type TargetRules } from '../../domain/target.ts';
import { NameNotResolved } from './look-up-name.ts';
import { type Asker, type Resolver, resolveTarget } from './resolve.ts';

/** One signed request to a receiver. */
export interface WebhookRequest {
  readonly asker: Asker;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What sends requests; owns the connections that it keeps alive. */
export interface Poster {
  post(request: WebhookRequest): Promise<Outcome>;
  close(): void;
}

/** How a Poster works; tests shorten the time, give a resolver of their own, or trust a certificate. */
export interface PosterOptions {
  readonly rules: TargetRules;
  readonly resolver: Resolver;
  readonly timeoutMs?: number;
  /** How long an idle connection is kept. */
  readonly idleMs?: number;
  readonly ca?: string;
}

/**
 * A sender that never reaches inside: each request's addresses are resolved, checked and pinned, redirects are not followed, the whole attempt
 * ends after 15 s however slowly the receiver drips, and at most 64 kB of its answer, in 256 chunks, are read and thrown away (decisions 8).
 */
export function openPoster(options: PosterOptions): Poster {
  const { idleMs = longestIdleMs } = options;
  const agentOptions = { keepAlive: true, maxFreeSockets: 256, scheduling: 'lifo' as const, timeout: idleMs };
  const agents: Agents = {
    'http:': new http.Agent(agentOptions),
    'https:': new https.Agent({ ...agentOptions, ...(options.ca === undefined ? {} : { ca: options.ca }) }),
  };
  return {
    post: (request) => attempt(request, options, agents),
    close() {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

type Agents = { readonly 'http:': http.Agent; readonly 'https:': https.Agent };

const totalTimeoutMs = 15_000;
// More than an attempt lasts. Receivers that close nothing would have the sender's connections pile up.
const longestIdleMs = 30_000;
const mostAnswerBytes = 64 * 1024;
// Each is an event, whatever its length: 64 kB in chunks of a byte took 50 to 130 ms of the process.
const mostAnswerChunks = 256;
// Servers send one or two (100, 103); every further one costs the process a parse.
const mostInterimAnswers = 8;

async function attempt(request: WebhookRequest, options: PosterOptions, agents: Agents): Promise<Outcome> {
  const timeoutMs = options.timeoutMs ?? totalTimeoutMs;
  const deadline = new Deadline(timeoutMs);
  try {
    // The rules may have become stricter since the endpoint was made.
    const url = parseTarget(request.url, options.rules);
    const addresses = await deadline.before(resolveTarget(url, options.rules, options.resolver, request.asker));
    const send = () => exchange(url, addresses, request, agents, deadline);
    return await send().catch((error: unknown) => {
      // The receiver closed an idle connection while it was being used again: what it did not read is sent once more.
      if (error instanceof StaleConnection) return send();
      throw error;
    });
  } catch (error) {
    if (error instanceof TargetRefused) return { kind: 'refused_target', reason: error.message };
    if (error instanceof NameNotResolved) return { kind: 'no_answer', reason: error.message };
    if (deadline.isOver) return { kind: 'no_answer', reason: `no response within ${timeoutMs} ms` };
    return { kind: 'no_answer', reason: reasonOf(error) };
  } finally {
    deadline.end();
  }
}

class StaleConnection extends Error {}

/** One time for everything that an attempt does; a timer and not a signal, which would cost more than signing the request. */
class Deadline {
  isOver = false;
  #stop: (() => void) | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#stop?.();
    }, ms);
  }

  /** Waits for the work, but not past the deadline. */
  before<T>(work: T | Promise<T>): T | Promise<T> {
    if (!(work instanceof Promise)) return work;
    return new Promise((resolve, reject) => {
      this.onOver(() => reject(new Error('too late')));
      work.then(resolve, reject);
    });
  }

  /** What to do when time is up; whatever was said before is forgotten. */
  onOver(stop: () => void): void {
    this.#stop = stop;
    if (this.isOver) stop();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

function exchange(
  url: URL,
  addresses: readonly string[],
  request: WebhookRequest,
  agents: Agents,
  deadline: Deadline,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
    const client = protocol === 'https:' ? https : http;
    const outgoing = client.request({
      method: 'POST',
      hostname: hostOf(url),
      port: portOf(url),
      path: url.pathname + url.search,
      agent: agents[protocol],
      headers: { host: url.host, ...request.headers, 'content-length': request.body.byteLength },
      lookup: pinnedTo(addresses),
    });
    deadline.onOver(() => outgoing.destroy(new Error('too late')));
    outgoing.once('socket', readInSlices);
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(stale ? new StaleConnection('stale connection', { cause: error }) : error);
    });
    let interim = 0;
    // An interim response has up to 16 kB of headers, and a chunk of the connection thousands of short ones.
    outgoing.on('information', () => {
      interim += 1;
      if (interim > mostInterimAnswers) outgoing.destroy(tooManyInterim);
    });
    let isAnswered = false;
    // Whatever is neither an answer nor an error ends here, such as a change of protocol.
    outgoing.on('close', () => {
      if (!isAnswered) reject(cutShort);
    });
    outgoing.on('response', (answer) => {
      isAnswered = true;
      const outcome: Outcome = {
        kind: 'answered',
        status: answer.statusCode ?? 0,
        retryAfter: answer.headers['retry-after'],
      };
      let [bytes, chunks] = [0, 0];
      const end = answer.push.bind(answer);
      // Not by `data`, which begins after the parser has gone through all that was read with the head.
      answer.push = (chunk: Buffer | null) => {
        if (chunk === null) return end(null);
        bytes += chunk.length;
        chunks += 1;
        if (bytes > mostAnswerBytes || chunks > mostAnswerChunks) {
          resolve(outcome);
          outgoing.destroy();
        }
        return true;
      };
      answer.on('end', () => resolve(outcome)).resume();
      // An answer cut short is none: what it stood for may not have been done, and sending again is allowed.
      answer.on('error', reject);
      answer.on('close', () => reject(cutShort));
    });
    outgoing.end(request.body);
  });
}

/**
 * Hands what the connection reads to the parser in slices, and nothing more once it is destroyed. A read is up to 64 kB: two thousand interim responses or ten thousand chunks of a byte, all of which
 * the parser would go through although the attempt ends with the first few.
 */
function readInSlices(socket: Socket): void {
  if (sliced.has(socket)) return;
  sliced.add(socket);
  const push = socket.push.bind(socket);
  socket.push = (read: Buffer | null) => {
    if (read === null || read.length <= sliceBytes) return push(read);
    let wantsMore = true;
    for (let at = 0; at < read.length && !socket.destroyed; at += sliceBytes) {
      wantsMore = push(read.subarray(at, at + sliceBytes));
    }
    return wantsMore;
  };
}

// A connection is used again.
const sliced = new WeakSet<Socket>();
/** An ordinary response is one or two. */
const sliceBytes = 1_024;

const tooManyInterim = Object.assign(new Error('too many interim responses'), { code: 'too many interim responses' });
const cutShort = new Error('the response was cut short');

// The connection asks for the name's addresses here and nowhere else; an address literal asks for none and was checked as it stands.
function pinnedTo(addresses: readonly string[]): LookupFunction {
  return (_host, options, callback) => {
    const pinned = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    const [first] = pinned;
    if (first === undefined) callback(new TargetRefused('the host has no address'), '', 4);
    else if (options.all === true) callback(null, pinned);
    else callback(null, first.address, first.family);
  };
}

// Codes only: a message may quote what the receiver sent.
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}
