import { Code } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';
import { collectGarbage } from '@eligo/testkit/collect-garbage';
import { afterEach, describe, expect, test } from 'vitest';
import { currentRequest, type Implementation } from '../src/index.ts';
import type { ProbeService } from './probe.ts';
import { byGateway, type ServedProbe, serveProbe, signalled, topologies } from './served-probe.ts';

describe.each(topologies)('%s: a server stream', (topology) => {
  const served: ServedProbe[] = [];
  const serve = async (implementation: Implementation<ProbeService>) => {
    const made = await serveProbe(topology, implementation);
    served.push(made);
    return made;
  };
  afterEach(async () => {
    for (const { close } of served.splice(0)) await close();
  });

  test('delivers every message in order, and ends', async () => {
    const { probe, server } = await serve({ count: upTo });
    const counts: number[] = [];
    for await (const { count } of probe.count({ count: 1_000 }, byGateway())) counts.push(count);
    expect(counts).toEqual(Array.from({ length: 1_000 }, (_, at) => at));
    expect(server.inFlight).toBe(0);
  });

  test('may be empty', async () => {
    const { probe } = await serve({ count: upTo });
    for await (const message of probe.count({ count: 0 }, byGateway())) expect.fail(`unexpected ${message.count}`);
  });

  test('carries 60,000 messages in flat memory, and the handler never runs far ahead of a slow reader', async () => {
    let made = 0;
    let furthestAhead = 0;
    const { probe } = await serve({
      async *count(request) {
        for (made = 0; made < request.count; made += 1) yield { count: made, text: 'x'.repeat(20) };
      },
    });
    // A call has 30 s at most, and grpc-js needs more than that for all of them where the machine is busy with other things.
    const calls = topology === 'gRPC' ? 4 : 1;
    const count = 60_000 / calls;
    const before = heldBytes();
    let peak = 0;
    let total = 0;
    for (let call = 0; call < calls; call += 1) {
      let read = 0;
      for await (const message of probe.count({ count }, { ...byGateway(), timeoutMs: 30_000 })) {
        if (message.count !== read) expect.fail(`${message.count} came after ${read} messages`);
        read += 1;
        furthestAhead = Math.max(furthestAhead, made - read);
        if (read % 10_000 === 0) {
          // A slow reader now and then: whatever is sent meanwhile would pile up.
          await new Promise((resolve) => setTimeout(resolve, 20));
          peak = Math.max(peak, heldBytes() - before);
        }
      }
      total += read;
    }
    expect(total).toBe(60_000);
    // The windows of HTTP/2 hold some thousand messages of this size; without back-pressure it would be all of them.
    expect(furthestAhead).toBeLessThan(20_000);
    expect(peak).toBeLessThan(8 * 1024 * 1024);
  }, 120_000);

  test('lets the handler clean up when the reader breaks off', async () => {
    const cleaned = signalled();
    const { probe } = await serve({
      async *count() {
        try {
          for (let count = 0; ; count += 1) yield { count };
        } finally {
          cleaned.resolve();
        }
      },
    });
    for await (const { count } of probe.count({}, byGateway())) if (count === 3) break;
    await cleaned.promise;
  });

  test('carries a failure after messages', async () => {
    const { probe } = await serve({
      async *count() {
        yield { count: 1 };
        throw new Failure('price_not_found');
      },
    });
    const counts: number[] = [];
    const reading = (async () => {
      for await (const { count } of probe.count({}, byGateway())) counts.push(count);
    })();
    await expect(reading).rejects.toMatchObject({ name: 'Failure', code: 'price_not_found' });
    expect(counts).toEqual([1]);
  });

  test('ends at its deadline and when its caller goes away', async () => {
    const aborted = signalled();
    const { probe } = await serve({
      async *count({ text }, call) {
        yield { count: 1 };
        if (text === 'connects') return;
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
        aborted.resolve();
      },
    });
    // A call that has to connect first may end before its peer hears of it.
    await drainStream(probe.count({ text: 'connects' }, byGateway()));
    const late = drainStream(probe.count({}, { ...byGateway(), timeoutMs: 500 }));
    await expect(late).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await aborted.promise;

    const leaving = new AbortController();
    const left = (async () => {
      for await (const { count } of probe.count({}, { ...byGateway(), signal: leaving.signal }))
        if (count === 1) leaving.abort();
    })();
    await expect(left).rejects.toMatchObject({ code: Code.Canceled });
  });

  test('is refused like any call without a context', async () => {
    const { probe } = await serve({ count: upTo });
    await expect(drainStream(probe.count({}, {}))).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  test('runs its handler under the request of the call', async () => {
    const { probe } = await serve({
      async *count() {
        yield { text: currentRequest()?.requestId ?? '' };
        await Promise.resolve();
        yield { text: currentRequest()?.requestId ?? '' };
      },
    });
    for await (const { text } of probe.count({}, byGateway())) expect(text).toBe('req_of_the_test');
  });
});

/** The heap that is in use once garbage was collected, which a busy machine does late. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

async function* upTo(request: { count: number }) {
  for (let count = 0; count < request.count; count += 1) yield { count };
}

async function drainStream(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
