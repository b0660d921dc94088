import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '@eligo/failures';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  connectNodeHandler,
  generateComponentKeys,
  generateProofKey,
  implement,
  type Login,
  loginVerifier,
  longestLoginMs,
  type OperatorAction,
  operatorHeaders,
  type RefusedCall,
  rpcServer,
  signLogin,
  UsedProof,
} from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { identityOf } from './served-probe.ts';

const { privateKeys, publicKeys } = generateComponentKeys(['operator', 'stranger']);
const ada = { id: 'foper_1', name: 'Ada' };
const hourMs = 3_600_000;
const proof = generateProofKey();

function loginOf(more: Partial<Login> = {}, key = privateKeys.operator ?? ''): string {
  const login = { operator: ada, loginId: 'l1', allows: ['reads', 'probe.Echo', 'probe.Open', 'probe.Count'] };
  return signLogin({ ...login, expiresAtMs: Date.now() + hourMs, proofKey: proof.publicKey, ...more }, key);
}

const token = loginOf();
const recorded: OperatorAction[] = [];
const reported: RefusedCall[] = [];
let canRecord = true;
let origin: string;
/** Another component, which serves the same methods and knows the same operators. */
let other: string;
const open: Server[] = [];

beforeAll(async () => {
  origin = await adminServer('probe');
  other = await adminServer('catalog');
});
afterAll(() => {
  for (const http of open) {
    http.close();
    http.closeAllConnections();
  }
});

async function adminServer(component: string): Promise<string> {
  const server = rpcServer({
    identity: identityOf(component),
    handlers: [
      implement(ProbeService, {
        echo: ({ text, amount }, call) => {
          if (text === 'fail') throw new Failure('price_not_found');
          if (text === 'break') throw new Error('password=hunter2');
          return { text: `${call.from} ${call.scope.accountId} ${call.scope.testMode}`, amount };
        },
        read: ({ text }) => ({ text }),
        open: () => ({}),
        async *count({ count }) {
          for (let at = 0; at < count; at += 1) yield { count: at };
        },
      }),
    ],
  });
  const used = new Set<string>();
  const options = {
    operators: {
      ...loginVerifier(publicKeys.operator ?? ''),
      record: async (action: OperatorAction) => {
        if (!canRecord) throw new Error('the disk is full');
        if (used.has(action.proofId)) throw new UsedProof();
        used.add(action.proofId);
        recorded.push(action);
      },
      report: (refused: RefusedCall) => void reported.push(refused),
    },
    fallback: (_request: unknown, response: { writeHead(status: number): { end(): void } }) =>
      response.writeHead(404).end(),
  };
  const http = createServer(connectNodeHandler(server, options));
  open.push(http);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

const operator = { authorization: `Bearer ${token}`, 'eligo-account': 'facct_7' };

test('an operator calls with JSON and is identified as operator', async () => {
  const answer = await call('Echo', { amount: '9007199254740993' }, operator);
  expect(answer).toMatchObject({ status: 200, body: { text: 'operator facct_7 true', amount: '9007199254740993' } });
  expect((await call('Echo', {}, { ...operator, 'eligo-test-mode': 'false' })).body).toMatchObject({
    text: 'operator facct_7 false',
  });
});

test('each call is recorded before it runs, with who, what, whose and the request id', async () => {
  const subject = newId('price');
  recorded.length = 0;
  const answered = await call('Echo', { text: subject }, { ...operator, 'eligo-request-id': 'req_of_ada' });
  expect(answered.requestId).toBe('req_of_ada');
  expect(recorded).toMatchObject([
    {
      ...{ login: { operator: ada, loginId: 'l1' }, action: 'probe.Echo', subjectId: subject, requestId: 'req_of_ada' },
      scope: { accountId: 'facct_7', testMode: true },
    },
  ]);
  const { requestId } = await call('Echo', { text: 'Ada Lovelace' }, operator);
  expect(recorded[1]).toMatchObject({ subjectId: undefined, requestId });
});

test('a call that the login or the policy forbids is recorded as refused, and does not run [D14.197]', async () => {
  recorded.length = 0;
  const reader = { ...operator, authorization: `Bearer ${loginOf({ allows: ['reads'] })}` };
  expect(await call('Echo', { text: newId('price') }, reader)).toMatchObject({ status: 403 });
  expect(await call('Echo', {}, { ...operator, authorization: 'Bearer none' })).toMatchObject({ status: 401 });
  expect(recorded).toMatchObject([{ action: 'probe.Echo', refused: true, scope: { accountId: 'facct_7' } }]);
});

test('a call that cannot be recorded does not run', async () => {
  canRecord = false;
  try {
    expect(await call('Echo', { text: 'x' }, operator)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  } finally {
    canRecord = true;
  }
});

test('a login allows the methods that it names, and all reads where it says so', async () => {
  const by = (allows: string[]) => ({ ...operator, authorization: `Bearer ${loginOf({ allows })}` });
  const denied = { status: 403, body: { code: 'permission_denied' } };
  expect(await call('Read', {}, by(['reads']))).toMatchObject({ status: 200 });
  expect(await call('Echo', {}, by(['reads']))).toMatchObject(denied);
  expect(await call('Echo', {}, by(['probe.Echo']))).toMatchObject({ status: 200 });
  expect(await call('Read', {}, by(['probe.Echo', 'checkout.Read']))).toMatchObject(denied);
});

test.each([
  ['no token', {}, 401],
  ['an expired login', bearer(loginOf({ expiresAtMs: Date.now() - 1 })), 401],
  ['a login that lives too long', bearer(loginOf({ expiresAtMs: Date.now() + longestLoginMs + 60_000 })), 401],
  ['a login that another key signed', bearer(loginOf({}, privateKeys.stranger)), 401],
  ['a context that a component signed', bearer(contextOfGateway()), 401],
  ['a login that was changed', bearer(widened()), 401],
  ['a login of an earlier release, which has no key', bearer(withoutKey()), 401],
  ['another token', bearer('something-else'), 401],
  ['a token without its scheme', { ...operator, authorization: token }, 401],
  ['a credential of a component', { 'eligo-credential': identityOf('gateway').credentialFor('probe') }, 401],
  ['no account', { authorization: `Bearer ${token}` }, 400],
])('%s is refused', async (_, headers, status) => {
  expect(await call('Echo', {}, headers as Record<string, string>)).toMatchObject({ status });
});

const scope = { accountId: 'facct_7', testMode: true };

test('what one component received is refused by another, where the same login makes the same call [D14.196]', async () => {
  const headers = proven('Echo', scope);
  recorded.length = 0;
  expect(await send('Echo', {}, headers)).toMatchObject({ status: 200, body: { text: 'operator facct_7 true' } });
  expect(await send('Echo', {}, headers, other)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  const { privateKey } = proof;
  const forOther = operatorHeaders({ method: 'catalog.Echo', scope, body: '{}' }, { token, proofKey: privateKey });
  expect(await send('Echo', {}, forOther, other)).toMatchObject({ status: 200 });
  expect(recorded.length).toBe(2);
});

test.each([
  ['another method', () => proven('Read', scope)],
  ['another account', () => ({ ...proven('Echo', { ...scope, accountId: 'facct_8' }), 'eligo-account': 'facct_7' })],
  ['the other mode', () => ({ ...proven('Echo', scope), 'eligo-test-mode': 'false' })],
  ['no account', () => ({ ...proven('Echo'), 'eligo-account': 'facct_7' })],
  ['another body', () => proven('Echo', scope, '{"text":"other"}')],
  ['another login', () => ({ ...proven('Echo', scope), authorization: `Bearer ${loginOf({ proofKey: stranger() })}` })],
])('a proof for %s is refused, and the message says what to do [D14.196]', async (_, headers) => {
  expect(await send('Echo', {}, headers())).toMatchObject({
    status: 401,
    body: { message: expect.stringMatching(/^The proof is not for this component, .*eligo operator headers$/) },
  });
});

test('a proof serves for a minute, and not one that claims to serve for longer [D14.196]', async () => {
  const madeAt = (ms: number) =>
    operatorHeaders(
      { method: 'probe.Echo', scope, body: '{}' },
      { token, proofKey: proof.privateKey },
      { now: () => new Date(ms) },
    );
  const refused = { status: 401, body: { message: expect.stringContaining('The proof is too old') } };
  expect(await send('Echo', {}, madeAt(Date.now() - 61_000))).toMatchObject(refused);
  expect(await send('Echo', {}, madeAt(Date.now() - 30_000))).toMatchObject({ status: 200 });
  expect(await send('Echo', {}, madeAt(Date.now() + 120_000))).toMatchObject(refused);
});

test.each([
  ['a login alone, as earlier releases sent it', {}, 'The call has no proof'],
  ['a proof of the release before', { 'eligo-proof': proven('Echo', scope)['eligo-proof'] }, 'The call has no proof'],
  ['a text', { 'eligo-call-proof': 'proof' }, 'The proof is not for'],
  ['a proof whose time was changed', { 'eligo-call-proof': later() }, 'The proof is not for'],
])('%s is no proof [D14.196]', async (_, more, message) => {
  expect(await send('Echo', {}, { ...operator, ...(more as object) })).toMatchObject({
    status: 401,
    body: { message: expect.stringContaining(message) },
  });
});

test('a proof serves for one call: whoever saw it can repeat it neither with the same body nor with another one [D14.318]', async () => {
  const body = { text: newId('price') };
  const headers = proven('Echo', scope, textOf(body));
  expect(await send('Echo', body, headers)).toMatchObject({ status: 200 });
  recorded.length = reported.length = 0;
  expect(await send('Echo', body, headers)).toMatchObject({
    status: 401,
    body: { message: expect.stringMatching(/^The proof was used before; .*eligo operator headers$/) },
  });
  expect(await send('Echo', { text: 'other' }, headers)).toMatchObject({ status: 401 });
  // Connect takes the message of a read from the address as well.
  const read = proven('Read', scope, '');
  const query = '?connect=v1&encoding=json&message=%7B%22text%22%3A%22x%22%7D';
  const got = await fetch(`${origin}/eligo.probe.v1.ProbeService/Read${query}`, { headers: read });
  expect(got.status).toBe(401);
  expect(recorded).toEqual([]);
  expect(reported.map(({ reason }) => reason)).toEqual(['used_proof', 'invalid_proof', 'invalid_proof']);
});

test('a refused login or proof is reported with its reason, method and address, and with no secret [D14.318]', async () => {
  reported.length = 0;
  await send('Echo', {}, {});
  await send('Echo', {}, bearer('something-else'));
  await send('Echo', {}, bearer(loginOf({ expiresAtMs: Date.now() - 1 })));
  await send('Echo', {}, bearer(loginOf({ expiresAtMs: Date.now() + longestLoginMs + 60_000 })));
  await send('Echo', {}, operator);
  await send('Echo', {}, { ...operator, 'eligo-call-proof': 'x' });
  const old = { now: () => new Date(Date.now() - 100_000) };
  const call = { method: 'probe.Echo', scope, body: '{}' };
  await send('Echo', {}, operatorHeaders(call, { token, proofKey: proof.privateKey }, old));
  const known = { action: 'probe.Echo', from: expect.stringContaining('127.0.0.1'), requestId: expect.any(String) };
  expect(reported).toEqual([
    { ...known, reason: 'no_login', operatorId: undefined },
    { ...known, reason: 'invalid_login', operatorId: undefined },
    { ...known, reason: 'expired_login', operatorId: undefined },
    { ...known, reason: 'invalid_login', operatorId: undefined },
    { ...known, reason: 'no_proof', operatorId: 'foper_1' },
    { ...known, reason: 'invalid_proof', operatorId: 'foper_1' },
    { ...known, reason: 'expired_proof', operatorId: 'foper_1' },
  ]);
});

test('a login of an earlier release is told to log in again [D14.196]', async () => {
  const old = { ...proven('Echo', scope), authorization: `Bearer ${withoutKey()}` };
  expect((await send('Echo', {}, old)).body).toMatchObject({ message: expect.stringContaining('log in again') });
});

test('an operator reaches what the gateway may reach, and no more', async () => {
  expect(await call('Open', {}, operator)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
});

test('a failure shows its code and text, anything else shows nothing', async () => {
  const failed = await call('Echo', { text: 'fail' }, operator);
  expect(failed).toMatchObject({
    status: 404,
    body: { code: 'not_found', message: new Failure('price_not_found').detail },
  });
  const broken = await call('Echo', { text: 'break' }, operator);
  expect(broken.status).toBe(500);
  expect(broken.text).not.toContain('hunter2');
});

test('bodies that are no JSON, of another type, or too large are refused', async () => {
  expect((await call('Echo', '{', operator)).status).toBe(400);
  expect((await call('Echo', { amount: 'x' }, operator)).status).toBe(400);
  expect((await call('Echo', { text: 'x'.repeat(5 * 1024 * 1024) }, operator)).status).toBe(429);
  expect((await fetch(`${origin}/eligo.probe.v1.ProbeService/Nothing`, { method: 'POST' })).status).toBe(404);
});

test('a server stream is served in envelopes', async () => {
  const body = enveloped(JSON.stringify({ count: 3 }));
  const response = await fetch(`${origin}/eligo.probe.v1.ProbeService/Count`, {
    method: 'POST',
    headers: { ...withProof('Count', operator, body), 'content-type': 'application/connect+json' },
    body,
  });
  const text = await response.text();
  expect(text.match(/"count":\d/g)).toEqual(['"count":1', '"count":2']);
});

function bearer(text: string) {
  return { authorization: `Bearer ${text}`, 'eligo-account': 'facct_7' };
}

function contextOfGateway(): string {
  const gateway = identityOf('gateway');
  return gateway.tokenOf(gateway.callerFor({ accountId: 'facct_7', testMode: true })) ?? 'none';
}

function withoutKey(): string {
  const { proofKey: _, ...old } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as Login;
  return signLogin(old as Login, privateKeys.operator ?? '');
}

function stranger(): string {
  return generateProofKey().publicKey;
}

// The same signature beside a later end.
function later(): string {
  const [expires, ...rest] = proven('Echo', scope)['eligo-call-proof']?.split('.') ?? [];
  return [Number(expires) + 1_000, ...rest].join('.');
}

// The same signature over a payload that allows more.
function widened(): string {
  const [payload = '', signature = ''] = loginOf({ allows: [] }).split('.');
  const login = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Login;
  const wider = Buffer.from(JSON.stringify({ ...login, allows: ['probe.Echo'] }));
  return `${wider.toString('base64url')}.${signature}`;
}

/** The headers with a proof for the call that they make. */
function withProof(method: string, headers: Record<string, string>, body: string | Buffer): Record<string, string> {
  const accountId = headers['eligo-account'];
  const testMode = headers['eligo-test-mode'] !== 'false';
  const scope = accountId === undefined ? undefined : { accountId, testMode };
  return { ...proven(method, scope, body), ...headers };
}

function proven(method: string, scope?: OperatorAction['scope'], body: string | Buffer = '{}'): Record<string, string> {
  return operatorHeaders({ method: `probe.${method}`, scope, body }, { token, proofKey: proof.privateKey });
}

function call(method: string, body: object | string, headers: Record<string, string>) {
  return send(method, body, headers.authorization === undefined ? headers : withProof(method, headers, textOf(body)));
}

async function send(method: string, body: object | string, headers: Record<string, string>, to = origin) {
  const response = await fetch(`${to}/eligo.probe.v1.ProbeService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: textOf(body),
  });
  const text = await response.text();
  const requestId = response.headers.get('request-id');
  return { status: response.status, requestId, text, body: JSON.parse(text) as unknown };
}

function textOf(body: object | string): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function enveloped(text: string): Buffer {
  const data = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}
