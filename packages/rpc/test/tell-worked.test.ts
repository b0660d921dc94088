import { Code } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';
import { expect, onTestFinished, test } from 'vitest';
import { type Client, client, type Implementation, type ServerObserver, type TellWorked } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { byGateway, gateway, serveProbe, signalled } from './served-probe.ts';

const implementation: Implementation<ProbeService> = {
  echo: ({ text, count }) => {
    if (count === 13) throw new Failure('product_not_found');
    return { count: text.length };
  },
  async *count({ count }) {
    for (let value = 0; value < count; value += 1) yield { count: value };
  },
};

/** A call of each kind that travels in its own way. */
const calls: [name: string, call: (probe: Client<ProbeService>) => Promise<unknown>][] = [
  ['a call in a shared stream', (probe) => probe.echo({ text: 'x' }, byGateway())],
  ['a long call, which goes alone', (probe) => probe.echo({ text: 'x'.repeat(100_000) }, byGateway())],
  ['a call whose answer is a stream', (probe) => drain(probe.count({ count: 3 }, byGateway()))],
  ['a call that fails', (probe) => probe.echo({ count: 13 }, byGateway()).catch(() => undefined)],
  [
    'a long call that fails',
    (probe) => probe.echo({ count: 13, text: 'x'.repeat(100_000) }, byGateway()).catch(() => undefined),
  ],
];

test.each(calls)('a caller that asks is told for how long %s was worked on [D14.249]', async (_, call) => {
  const told: number[] = [];
  const { probe, asked } = await served({ workedMs: 1.5, tellWorked: () => (ms) => told.push(ms) });
  await call(probe);
  expect({ told, asked }).toEqual({ told: [1.5], asked: [true] });
});

test.each(calls)(
  'nobody is told of %s where the caller does not ask, or the callee does not know [D14.249]',
  async (_, call) => {
    const told: number[] = [];
    const unasked = await served({ workedMs: 1.5, tellWorked: () => undefined });
    await call(unasked.probe);
    expect(unasked.asked).toEqual([false]);
    const unknown = await served({ workedMs: undefined, tellWorked: () => (ms) => told.push(ms) });
    await call(unknown.probe);
    expect(told).toEqual([]);
  },
);

test.each([
  ['its caller leaves', Code.Canceled],
  ['its deadline passes', Code.DeadlineExceeded],
])('the caller of a call that ends early, because %s, is told once all work has ended [D14.249]', async (_, code) => {
  const told: number[] = [];
  const [hasBegun, wasLeft, mayEnd, isTold] = [signalled(), signalled(), signalled(), signalled()];
  const slow: Implementation<ProbeService> = {
    ...implementation,
    echo: async ({ text }) => {
      if (text === 'first') return {};
      hasBegun.resolve();
      await mayEnd.promise;
      return {};
    },
  };
  let isConnected = false;
  const tellWorked = () => (ms: number) => {
    if (!isConnected) return;
    told.push(ms);
    isTold.resolve();
  };
  const observer = { finished: () => isConnected && wasLeft.resolve() };
  const { probe } = await served({ workedMs: 1.5, tellWorked }, { implementation: slow, observer });
  // So that the time is the call's alone.
  await probe.echo({ text: 'first' }, byGateway());
  isConnected = true;
  const leaving = new AbortController();
  const timeoutMs = code === Code.DeadlineExceeded ? 2_000 : 30_000;
  const ended = probe.echo({}, { ...byGateway(), signal: leaving.signal, timeoutMs }).catch((error) => error);
  await hasBegun.promise;
  if (code === Code.Canceled) leaving.abort();
  expect(await ended).toMatchObject({ code });
  await wasLeft.promise;
  expect(told).toEqual([]);
  mayEnd.resolve();
  await isTold.promise;
  expect(told).toEqual([1.5]);
});

async function served(
  { workedMs, tellWorked }: { workedMs: number | undefined; tellWorked: () => TellWorked | undefined },
  {
    implementation: serves = implementation,
    observer,
  }: { implementation?: Implementation<ProbeService>; observer?: ServerObserver } = {},
) {
  const asked: boolean[] = [];
  const { transport, close } = await serveProbe('gRPC', serves, {
    observer,
    takeTurn: (_method, _call, isMeasured) => {
      asked.push(isMeasured);
      return { entered: undefined, run: (step) => step(), workedMs: () => workedMs };
    },
  });
  onTestFinished(close);
  return { probe: client(ProbeService, transport, gateway, { tellWorked }), asked };
}

async function drain(answers: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of answers);
}
