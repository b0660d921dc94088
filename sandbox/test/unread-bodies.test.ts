import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../src/index.ts';
import { newHome, secretKey } from './support.ts';

test.each(['/v1/files', '/v1/payment_intents', '/sandbox/faults'])(
  'a request without the key is refused before its body is read: %s',
  async (path) => {
    const logger = { info: () => undefined, error: () => undefined };
    const sandbox = await startSandbox({ home: newHome(), host: '127.0.0.1', port: 0, secretKey, logger });
    onTestFinished(() => sandbox.stop());
    const headers = { 'content-length': 10_000_000, 'content-type': 'multipart/form-data; boundary=x' };
    const asked = request(`${sandbox.url}${path}`, { method: 'POST', headers });
    // None of the body ever comes.
    asked.flushHeaders();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    asked.on('error', () => undefined).destroy();
    expect(answer.statusCode).toBe(401);
  },
);
