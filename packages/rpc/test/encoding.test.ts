import { Code } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import { maxMessageBytes } from '../src/codec.ts';
import { byGateway, serveProbe, topologies } from './served-probe.ts';

const encoding = topologies.filter((topology) => topology !== 'in process');

// What one process alone would hide: both of these say the same.
describe.each(encoding)('%s: what does not survive encoding', (topology) => {
  test('a number in place of an int64 is refused in the request', async () => {
    const { probe, close } = await serveProbe(topology, { echo: () => ({}) });
    await expect(probe.echo({ amount: 1.5 as never }, byGateway())).rejects.toThrow();
    await close();
  });

  test('a response of the wrong message type is internal, and reported', async () => {
    const told: unknown[] = [];
    const observer = { unexpected: (error: unknown) => told.push(error) };
    const { probe, close } = await serveProbe(topology, { echo: () => ({ count: 2 ** 40 }) }, { observer });
    await expect(probe.echo({}, byGateway())).rejects.toMatchObject({ code: Code.Internal, rawMessage: '' });
    expect(told).toHaveLength(1);
    await close();
  });

  test('a lone surrogate arrives as the replacement character', async () => {
    const { probe, close } = await serveProbe(topology, { echo: ({ text }) => ({ text }) });
    expect((await probe.echo({ text: 'a\ud800b' }, byGateway())).text).toBe('a\ufffdb');
    await close();
  });

  test('unset and empty stay apart', async () => {
    const { probe, close } = await serveProbe(topology, {
      echo: ({ note }) => ({ count: note === undefined ? 0 : 1 }),
    });
    expect((await probe.echo({}, byGateway())).count).toBe(0);
    expect((await probe.echo({ note: '' }, byGateway())).count).toBe(1);
    await close();
  });

  test('a page of a hundred records, each of several texts of 64 kB, is handed over whole', async () => {
    const { probe, close } = await serveProbe(topology, { echo: ({ text }) => ({ text }) });
    const page = 'ü'.repeat(100 * 3 * 65_536);
    expect((await probe.echo({ text: page }, patiently())).text === page).toBe(true);
    await close();
  });

  test('a request over the limit is refused, an answer over it is internal', async () => {
    const large = 'x'.repeat(maxMessageBytes);
    const { probe, close } = await serveProbe(topology, { echo: () => ({}), read: () => ({ text: large }) });
    await expect(probe.echo({ text: large }, patiently())).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await expect(probe.read({}, patiently())).rejects.toMatchObject({ code: Code.Internal });
    await close();
  });

  test('the handler cannot reach into the messages of its caller', async () => {
    const { probe, close } = await serveProbe(topology, {
      echo: (request) => {
        request.text = 'changed';
        return request;
      },
    });
    const request = { text: 'mine' };
    expect((await probe.echo(request, byGateway())).text).toBe('changed');
    expect(request.text).toBe('mine');
    await close();
  });
});

// Twenty megabytes can take a busy machine longer than the five seconds that a call has by default.
function patiently() {
  return { ...byGateway(), timeoutMs: 30_000 };
}
