import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { StreamedAnswer } from '../src/http/api-request.ts';
import { writeStream } from '../src/http/write-stream.ts';

/** A response whose client reads when the test does. */
function responseTo(method: string) {
  const stream = new PassThrough();
  const response = Object.assign(stream, { writeHead: () => response, req: { method } });
  return { stream, response: response as unknown as ServerResponse };
}

test('a streamed answer is made as fast as its client reads, and arrives whole [D3.3]', async () => {
  let made = 0;
  async function* pieces() {
    for (; made < 1_000; made += 1) yield 'x'.repeat(10_000);
  }
  const { stream, response } = responseTo('GET');
  const told: string[] = [];
  const reader = { awaitsClient: () => told.push('waits'), resumes: () => told.push('resumes') };
  const written = writeStream(response, new StreamedAnswer(pieces()), 'freq_1', [], reader);
  for (let i = 0; i < 1_000; i += 1) await turn();
  // What its buffers and those of the pass-through hold.
  expect(made).toBeLessThan(50);
  expect(told.at(-1)).toBe('waits');
  expect(await text(stream)).toHaveLength(10_000_000);
  await written;
  expect(told.at(-1)).toBe('resumes');
});

test('a client that goes away ends the making of its answer', async () => {
  let cleaned = false;
  async function* pieces() {
    try {
      for (;;) yield 'x'.repeat(10_000);
    } finally {
      cleaned = true;
    }
  }
  const { stream, response } = responseTo('GET');
  const written = writeStream(response, new StreamedAnswer(pieces()), 'freq_1', []);
  await turn();
  stream.destroy();
  await written;
  expect(cleaned).toBe(true);
});
