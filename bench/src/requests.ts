/** The whole text of one HTTP request with a key. */
export function requestText(method: string, path: string, apiKey: string, content?: Content): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${apiKey}`];
  if (content === undefined) return `${head.join('\r\n')}\r\n\r\n`;
  const isText = 'text' in content;
  const body = isText ? content.text : JSON.stringify(content.body);
  const type = isText ? content.type : 'application/json';
  head.push(`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`);
  if (!isText && content.idempotencyKey !== undefined) head.push(`Idempotency-Key: ${content.idempotencyKey}`);
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** A browser's request for a page, which a proxy passes on from this address. */
export function pageRequestText(method: string, path: string, address: string, sent?: unknown): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Accept-Encoding: gzip'];
  head.push(`X-Forwarded-For: ${address}`);
  if (sent === undefined) return `${head.join('\r\n')}\r\n\r\n`;
  const body = JSON.stringify(sent);
  head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** What a request carries: JSON, or a text of another type, such as a form. */
type Content =
  | { readonly body: unknown; readonly idempotencyKey?: string }
  | { readonly text: string; readonly type: string };
