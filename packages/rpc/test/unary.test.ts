import { Code, ConnectError } from '@connectrpc/connect';
import { Failure, mostViolations } from '@eligo/failures';
import { afterEach, describe, expect, test } from 'vitest';
import { type Call, client, type Implementation, maxTimeoutMs } from '../src/index.ts';
import type { ObservedCall } from '../src/served-call.ts';
import { ProbeService } from './probe.ts';
import {
  byGateway,
  gateway,
  identityOf,
  type ServedProbe,
  scope,
  serveProbe,
  signalled,
  topologies,
} from './served-probe.ts';

describe.each(topologies)('%s: a unary call', (topology) => {
  const served: ServedProbe[] = [];
  const serve = async (implementation: Implementation<ProbeService>, options = {}) => {
    const made = await serveProbe(topology, implementation, options);
    served.push(made);
    return made;
  };
  afterEach(async () => {
    for (const { close } of served.splice(0)) await close();
  });

  test('hands the request over and the answer back', async () => {
    const { probe } = await serve({
      echo: ({ text, amount, count, note }) => ({
        text,
        amount: -amount,
        count,
        ...(note === undefined ? {} : { note }),
      }),
    });
    const answer = await probe.echo({ text: 'Zürich ✓', amount: 2n ** 53n + 1n, count: -7 }, byGateway());
    expect(answer).toMatchObject({ text: 'Zürich ✓', amount: -(2n ** 53n) - 1n, count: -7 });
    expect(answer.note).toBeUndefined();
    expect((await probe.echo({ note: '' }, byGateway())).note).toBe('');
  });

  test('tells the handler who calls, for whom, and under which request', async () => {
    const seen = signalled<Call>();
    const { probe } = await serve({
      echo: (_, call) => {
        seen.resolve(call);
        return {};
      },
    });
    const startedAt = performance.now();
    await probe.echo({}, { ...byGateway(), traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
    const call = await seen.promise;
    expect(call).toMatchObject({ scope, from: 'gateway', requestId: 'req_of_the_test' });
    expect(call.caller).toMatchObject({ accountId: 'facct_1', testMode: true, issuer: 'gateway' });
    expect(call.traceparent).toBe(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
    expect(call.timeoutMs()).toBeLessThanOrEqual(5_000);
    expect(call.timeoutMs()).toBeGreaterThan(4_900 - (performance.now() - startedAt));
  });

  test.each(['with a blank', 'x'.repeat(129), ''])(
    'does not take on %j, which is no request id, but makes one',
    async (given) => {
      const { transport } = await serve({ echo: (_, call) => ({ text: call.requestId }) });
      const header = {
        'eligo-credential': gateway.credentialFor('probe'),
        'eligo-caller': gateway.tokenOf(byGateway().caller) ?? '',
        'eligo-request-id': given,
      };
      const { message } = await transport.unary(ProbeService.method.echo, undefined, 30_000, header, {});
      expect((message as { text: string }).text).toMatch(/^req_[0-9a-f]{32}$/);
    },
  );

  test('carries a failure intact', async () => {
    const { probe } = await serve({
      echo() {
        throw new Failure('card_declined', { declineCode: 'insufficient_funds', retryAfterSeconds: 3 });
      },
      read() {
        throw Failure.violations([
          { loc: ['body', 'line_items', '0', 'price'], msg: 'unknown', type: 'price_not_found' },
          { loc: ['query', 'limit'], msg: 'too large', type: 'too_big' },
        ]);
      },
    });
    const declined = await rejection(probe.echo({}, byGateway()));
    expect(declined).toBeInstanceOf(Failure);
    expect(declined).toMatchObject({
      code: 'card_declined',
      detail: new Failure('card_declined').detail,
      declineCode: 'insufficient_funds',
      retryAfterSeconds: 3,
    });
    expect(await rejection(probe.read({}, byGateway()))).toMatchObject({
      violations: [
        { loc: ['body', 'line_items', '0', 'price'], msg: 'unknown', type: 'price_not_found' },
        { loc: ['query', 'limit'], msg: 'too large', type: 'too_big' },
      ],
    });
  });

  test('turns any other error into internal without text, and tells its own side', async () => {
    const told: unknown[] = [];
    const { probe } = await serve(
      {
        echo: () => {
          throw new Error('password=hunter2');
        },
        // A refusal of a peer further down is not this callee's to pass on.
        read: () => Promise.reject(new ConnectError('gateway may not call this', Code.PermissionDenied)),
      },
      { observer: { unexpected: (error: unknown, call: object) => told.push([error, call]) } },
    );
    const error = await rejection(probe.echo({}, byGateway()));
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({ code: Code.Internal, rawMessage: '' });
    expect(JSON.stringify(error)).not.toContain('hunter2');
    expect(await rejection(probe.read({}, byGateway()))).toMatchObject({ code: Code.Internal, rawMessage: '' });
    expect(told).toEqual([
      [
        expect.objectContaining({ message: 'password=hunter2' }),
        expect.objectContaining({ requestId: 'req_of_the_test' }),
      ],
      [expect.objectContaining({ code: Code.PermissionDenied }), expect.anything()],
    ]);
  });

  test('passes a refusal because the database is away on without its cause, and tells the observer that', async () => {
    const told: unknown[] = [];
    const cause = new Error('too many clients');
    const { probe } = await serve(
      {
        echo: () => {
          throw new Failure('service_unavailable', { retryAfterSeconds: 1, cause });
        },
        // What the handler decided on needs no reason.
        read: () => {
          throw new Failure('service_unavailable', { retryAfterSeconds: 30 });
        },
      },
      { observer: { unavailable: (error: Failure, call: ObservedCall) => told.push([error.cause, call.requestId]) } },
    );
    for (const call of [probe.echo, probe.read]) {
      const error = await rejection(call({}, byGateway()));
      expect(error).toMatchObject({ code: 'service_unavailable' });
    }
    expect(told).toEqual([[cause, 'req_of_the_test']]);
  });

  test('answers a method without a handler with Unimplemented', async () => {
    const { probe } = await serve({});
    expect(await rejection(probe.echo({}, byGateway()))).toMatchObject({ code: Code.Unimplemented });
  });

  test('ends at its deadline on both sides, although the handler continues', async () => {
    const aborted = signalled<unknown>();
    const { probe, server } = await serve({
      echo: ({ text }, call) => {
        if (text === 'connects') return {};
        return new Promise(() => {
          call.signal.addEventListener('abort', () => aborted.resolve(call.signal.reason));
        });
      },
    });
    // A call that has to connect first may end before its peer hears of it.
    await probe.echo({ text: 'connects' }, byGateway());
    const startedAt = performance.now();
    const error = await rejection(probe.echo({}, { ...byGateway(), timeoutMs: 500 }));
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
    // Without the deadline of its own it would end after 5 s.
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await aborted.promise;
    expect(server.inFlight).toBe(0);
  });

  test('asks for no more than the maximum time, and for none that has passed', async () => {
    const { probe } = await serve({ echo: (_, call) => ({ count: Math.ceil(call.timeoutMs()) }) });
    const { count } = await probe.echo({}, { ...byGateway(), timeoutMs: 10 * maxTimeoutMs });
    expect(count).toBeLessThanOrEqual(maxTimeoutMs);
    expect(count).toBeGreaterThan(maxTimeoutMs - 5_000);
    expect(await rejection(probe.echo({}, { ...byGateway(), timeoutMs: 0 }))).toMatchObject({
      code: Code.DeadlineExceeded,
    });
  });

  test('ends when its caller goes away, before and during', async () => {
    const begun = signalled();
    const aborted = signalled();
    const { probe } = await serve({
      echo: (_, call) => {
        call.signal.addEventListener('abort', () => aborted.resolve());
        begun.resolve();
        return new Promise(() => undefined);
      },
    });
    const leaving = new AbortController();
    const answer = rejection(probe.echo({}, { ...byGateway(), signal: leaving.signal }));
    await begun.promise;
    leaving.abort();
    expect(await answer).toMatchObject({ code: Code.Canceled });
    await aborted.promise;
    const left = rejection(probe.echo({}, { ...byGateway(), signal: AbortSignal.abort() }));
    expect(await left).toMatchObject({ code: Code.Canceled });
  });

  test('passes a received call on: caller, request, time left, and its end', async () => {
    const middle = identityOf('probe');
    const innerBegun = signalled<Call>();
    const innerEnded = signalled();
    const inner = await serve(
      {
        echo: (_, call) => {
          innerBegun.resolve(call);
          call.signal.addEventListener('abort', () => innerEnded.resolve());
          return new Promise(() => undefined);
        },
      },
      { as: middle },
    );
    const outer = await serve({ echo: (request, call) => inner.probe.echo(request, call) }, { identity: middle });
    const leaving = new AbortController();
    const answer = rejection(outer.probe.echo({}, { ...byGateway(), timeoutMs: 900, signal: leaving.signal }));
    const received = await Promise.race([innerBegun.promise, answer.then((error) => Promise.reject(error))]);
    expect(received).toMatchObject({ from: 'probe', requestId: 'req_of_the_test', scope });
    expect(received.caller.issuer).toBe('gateway');
    expect(received.timeoutMs()).toBeLessThanOrEqual(900);
    leaving.abort();
    await answer;
    await innerEnded.promise;
  });

  test('a copy of a received call with less time still ends when the received one does', async () => {
    const middle = identityOf('probe');
    const ended = signalled();
    const begun = signalled<number>();
    const inner = await serve(
      {
        echo: (_, call) => {
          begun.resolve(call.timeoutMs());
          call.signal.addEventListener('abort', () => ended.resolve());
          return new Promise(() => undefined);
        },
      },
      { as: middle },
    );
    const outer = await serve(
      { echo: (request, call) => inner.probe.echo(request, { ...call, timeoutMs: 4_000 }) },
      { identity: middle },
    );
    const leaving = new AbortController();
    const answer = rejection(outer.probe.echo({}, { ...byGateway(), signal: leaving.signal }));
    expect(await begun.promise).toBeLessThanOrEqual(4_000);
    leaving.abort();
    await answer;
    await ended.promise;
  });

  test('carries an error with a thousand fields, cut to the maximum number of entries [D14.58]', async () => {
    const type = 'product_component_not_found';
    const violations = Array.from({ length: 1_000 }, (_, at) => ({
      loc: ['body', 'checkout_session', 'line_items', String(at), 'price_data', 'product_data', 'components', '99'],
      msg: `${type}: fcomp_${'0'.repeat(26)}`,
      type,
    }));
    const { probe } = await serve({
      echo() {
        throw Failure.violations(violations);
      },
    });
    const told = violations.slice(0, mostViolations);
    expect(await rejection(probe.echo({}, byGateway()))).toMatchObject({ violations: told });
  });

  test('carries the context of an organization with hundreds of accounts', async () => {
    const { probe } = await serve({ echo: (_, call) => ({ count: call.caller.siblingAccountIds.length }) });
    const siblingAccountIds = Array.from({ length: 500 }, (_, at) => `facct_${String(at).padStart(26, '0')}`);
    const caller = gateway.callerFor({ ...scope, siblingAccountIds });
    expect((await probe.echo({}, { caller })).count).toBe(500);
  });

  test('refuses new calls while it drains, and waits for those in flight', async () => {
    const begun = signalled();
    const release = signalled();
    const { probe, server } = await serve({
      echo: async () => {
        begun.resolve();
        await release.promise;
        return { text: 'done' };
      },
    });
    const underWay = probe.echo({}, byGateway());
    await begun.promise;
    const drained = server.drain();
    expect(await rejection(probe.echo({}, byGateway()))).toMatchObject({ code: Code.Unavailable });
    release.resolve();
    expect((await underWay).text).toBe('done');
    await drained;
    expect(server.inFlight).toBe(0);
  });

  test('asks first whether it may be made', async () => {
    let called = false;
    const { transport } = await serve({
      echo: () => {
        called = true;
        return {};
      },
    });
    const beforeCall = () => {
      throw new Error('a call inside a transaction');
    };
    const guarded = client(ProbeService, transport, gateway, { beforeCall });
    await expect(guarded.echo({}, byGateway())).rejects.toThrow('a call inside a transaction');
    expect(() => guarded.count({}, byGateway())).toThrow('a call inside a transaction');
    expect(called).toBe(false);
  });
});

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it was answered');
    },
    (error: unknown) => error,
  );
}
