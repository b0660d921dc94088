/** The whole text of one HTTP request with a key. */
export function requestText(
  method: string,
  path: string,
  apiKey: string,
  content?: { readonly body: unknown; readonly idempotencyKey?: string },
): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${apiKey}`];
  if (content === undefined) return `${head.join('\r\n')}\r\n\r\n`;
  const body = JSON.stringify(content.body);
  head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  if (content.idempotencyKey !== undefined) head.push(`Idempotency-Key: ${content.idempotencyKey}`);
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
