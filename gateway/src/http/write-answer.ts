import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '@eligo/contract';
import { type Failure, failureAnswer } from '@eligo/failures';
import { isSmall } from './read-body.ts';

/** Headers by name and value, in turn, as `writeHead` takes them without further work. */
export type HeaderList = string[];

/** What every answer carries: nothing is cached, framed, sniffed or referred to. */
const securityHeaders = [
  'X-Content-Type-Options',
  'nosniff',
  'Cache-Control',
  'no-store',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'no-referrer',
  'Strict-Transport-Security',
  'max-age=31536000',
];

/** The headers of a JSON answer of known length. */
export function jsonHeaders(requestId: string, length: number): HeaderList {
  return [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(length),
    'Request-Id',
    requestId,
    ...securityHeaders,
  ];
}

/** The headers of an answer that is streamed: JSON, or a file, which browsers save. */
export function streamHeaders(
  requestId: string,
  file?: { readonly type: string; readonly filename: string },
): HeaderList {
  const type = file?.type ?? 'application/json; charset=utf-8';
  const disposition = file && ['Content-Disposition', `attachment; filename="${asciiOf(file.filename)}"`];
  return ['Content-Type', type, ...(disposition ?? []), 'Request-Id', requestId, ...securityHeaders];
}

/** The headers of a file, which browsers save and never show: what partners upload is nothing that this origin vouches for. */
export function fileHeaders(
  requestId: string,
  file: { readonly type: string; readonly filename: string; readonly sizeBytes: number },
): HeaderList {
  const disposition = `attachment; filename="${asciiOf(file.filename)}"; filename*=UTF-8''${encodeName(file.filename)}`;
  return [
    ...['Content-Type', file.type, 'Content-Length', String(file.sizeBytes), 'Content-Disposition', disposition],
    ...['Request-Id', requestId, 'Cross-Origin-Resource-Policy', 'same-origin'],
    ...securityHeaders,
  ];
}

// For clients that do not know `filename*` (RFC 6266).
function asciiOf(filename: string): string {
  return filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
}

// RFC 8187; a lone surrogate has no encoding.
function encodeName(filename: string): string {
  return encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Writes a whole JSON answer. */
export function writeJson(
  response: ServerResponse,
  status: number,
  text: string,
  requestId: string,
  extra?: HeaderList,
): void {
  if (response.headersSent || response.destroyed) return;
  const headers = jsonHeaders(requestId, Buffer.byteLength(text));
  if (extra !== undefined) headers.push(...extra);
  response.writeHead(status, headers);
  // As a string it leaves with the headers in one write; as a buffer it would take a vector of two.
  response.end(text);
}

/** Writes a refusal in its public form. `extra` are headers that its cause adds. */
export function writeFailure(
  response: ServerResponse,
  failure: Failure,
  requestId: string,
  extra: HeaderList = [],
): void {
  const answer = failureAnswer(failure);
  const { status } = answer;
  const list = [...extra, ...refusalHeaders(failure, answer)];
  const text = JSON.stringify(answer.body);
  if (isReadOff(response.req, status)) writeJson(response, status, text, requestId, list);
  else cutOff(response, status, text, requestId, list, isLimit(status) ? 'leave' : 'read off');
}

/** Whether what is left of a request's body is read off behind a refusal of this status, so that its connection takes the next request. */
export function isReadOff(request: IncomingMessage, status: number): boolean {
  return request.complete || isSmall(request, isLimit(status) ? mostReadOffAtLimit : limits.bodyBytes);
}

function isLimit(status: number): boolean {
  return status === 429 || status === 503;
}

/** The headers that a refusal adds, whatever it is written as. */
export function refusalHeaders(failure: Failure, { status, headers } = failureAnswer(failure)): HeaderList {
  const list = Object.entries(headers).flat();
  if (status === 401) list.push('WWW-Authenticate', 'Bearer');
  // An answer that asks for a retry has Retry-After.
  const mayPass = status === 503 && failure.row.retry === 'same_request';
  if (mayPass && headers['Retry-After'] === undefined) list.push('Retry-After', '1');
  return list;
}

// What is left of a large body is not taken: the connection ends with the answer. Not at once, for the reset that meets what the client still
// sends would overtake the answer: for a moment what comes is thrown away.
function cutOff(
  response: ServerResponse,
  status: number,
  text: string,
  requestId: string,
  extra: HeaderList,
  left: 'leave' | 'read off',
): void {
  if (response.headersSent || response.destroyed) return;
  const headers = jsonHeaders(requestId, Buffer.byteLength(text));
  response.writeHead(status, [...headers, ...extra, 'Connection', 'close']).write(text);
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, left === 'leave' ? longestLeftMs : longestReadOffMs);
  response.req.once('end', end).once('close', end);
  if (left === 'read off') response.req.resume();
}

const longestReadOffMs = 2_000;
// Reading 10 MB off is 13 ms of work, which is not done for a client at its limits. It has this long to read the answer before its connection ends.
const longestLeftMs = 1_000;
const mostReadOffAtLimit = 65_536;
