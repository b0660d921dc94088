import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type Stripe from 'stripe';

/** A failure between us and the processor, before a complete answer was read. */
export class TransportError extends Error {
  readonly reason: 'timeout' | 'connection';
  /** True when the connection was never made: the request cannot have arrived. */
  readonly neverSent: boolean;

  constructor(reason: TransportError['reason'], neverSent: boolean) {
    super(reason === 'timeout' ? 'no complete answer in time' : 'the connection failed');
    this.name = 'TransportError';
    this.reason = reason;
    this.neverSent = neverSent;
  }
}

/** More than this from one process would only queue at the processor. */
const maxSockets = 64;
const maxAnswerBytes = 8 * 1024 * 1024;
const neverConnectedCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/**
 * The SDK's HTTP client, on connections that are kept. The SDK's own one differs in what matters here: its timeout is one of
 * silence, not of the whole exchange, and the SDK repeats a request by itself when a connection was reset, also with
 * maxNetworkRetries 0; the errors thrown here carry no code that it would do so for.
 */
export function createHttpClient(): Stripe.HttpClient & { close(): void } {
  const agentOptions = { keepAlive: true, maxSockets, scheduling: 'lifo' as const };
  const plain = new HttpAgent(agentOptions);
  const secure = new HttpsAgent(agentOptions);
  return {
    getClientName: () => 'eligo',
    makeRequest: (host, port, path, method, headers, body, protocol, timeoutMs) =>
      new Promise((resolve, reject) => {
        const options = { host, port, path, method, headers, agent: protocol === 'http' ? plain : secure };
        const request = (protocol === 'http' ? httpRequest : httpsRequest)(options as never);
        let timedOut = false;
        const timer = setTimeout(() => {
          timedOut = true;
          request.destroy(new TransportError('timeout', false));
        }, timeoutMs);
        const fail = (error: Error & { code?: string }): void => {
          clearTimeout(timer);
          const neverSent = error.code !== undefined && neverConnectedCodes.includes(error.code);
          reject(new TransportError(timedOut ? 'timeout' : 'connection', neverSent));
        };
        request.once('error', fail);
        request.once('response', (response) => {
          readAll(response).then((text) => {
            clearTimeout(timer);
            resolve(new Answer(response, text));
          }, fail);
        });
        request.end(body);
      }),
    close: () => {
      plain.destroy();
      secure.destroy();
    },
  };
}

class Answer implements Stripe.HttpClientResponse {
  readonly #response: IncomingMessage;
  readonly #text: string;

  constructor(response: IncomingMessage, text: string) {
    this.#response = response;
    this.#text = text;
  }

  getStatusCode(): number {
    return this.#response.statusCode ?? 0;
  }

  getHeaders(): Record<string, string> {
    return this.#response.headers as Record<string, string>;
  }

  getRawResponse(): unknown {
    return this.#response;
  }

  toStream(): never {
    throw new Error('answers are read whole');
  }

  toJSON(): Promise<unknown> {
    return Promise.resolve().then(() => JSON.parse(this.#text));
  }
}

function readAll(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) response.destroy(new Error('the answer is too long'));
      else chunks.push(chunk);
    });
    response.once('error', reject);
    response.once('close', () => {
      if (response.complete) resolve(Buffer.concat(chunks).toString());
      else reject(new Error('the answer was cut off'));
    });
  });
}
