import { generateKeyPairSync } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { CallerContextSchema } from '@eligo/proto/caller/v1/caller';
import { beforeEach, describe, expect, test } from 'vitest';
import { generateComponentKeys, type Identity, implement, openIdentity, rpcServer } from '../src/index.ts';
import { readPrivateKey } from '../src/keys.ts';
import { signToken } from '../src/token.ts';
import { ProbeService, UnguardedService, UnreachableService } from './probe.ts';
import { byGateway, gateway, identityOf, keys, scope, serveProbe, topologies } from './served-probe.ts';

const checkout = identityOf('checkout');
const catalog = identityOf('catalog');
const probe = identityOf('probe');

describe.each(topologies)('%s: who may call', (topology) => {
  const echo = () => ({ text: 'served' });
  const call = async (header: Record<string, string>) => {
    const { transport, close } = await serveProbe(topology, { echo, open: echo });
    try {
      const answer = await transport.unary(ProbeService.method.echo, undefined, 30_000, header, {});
      return (answer.message as { text: string }).text;
    } catch (error) {
      return Code[(error as { code: Code }).code];
    } finally {
      await close();
    }
  };
  const good = {
    'eligo-credential': gateway.credentialFor('probe'),
    'eligo-caller': gateway.tokenOf(gateway.callerFor(scope)) ?? '',
  };

  test('who presents a credential for this callee and a signed context is served', async () => {
    expect(await call(good)).toBe('served');
  });

  test.each([
    ['no credential', { 'eligo-caller': good['eligo-caller'] }, 'Unauthenticated'],
    ['a credential that is none', { ...good, 'eligo-credential': 'nonsense' }, 'Unauthenticated'],
    ['a credential that is too long', { ...good, 'eligo-credential': `${'a'.repeat(33_000)}.a` }, 'Unauthenticated'],
    [
      'a credential with another payload',
      { ...good, 'eligo-credential': tampered(gateway.credentialFor('probe')) },
      'Unauthenticated',
    ],
    [
      'a credential signed with an unknown key',
      { ...good, 'eligo-credential': stranger().credentialFor('probe') },
      'Unauthenticated',
    ],
    [
      'a credential for another callee',
      { ...good, 'eligo-credential': gateway.credentialFor('catalog') },
      'PermissionDenied',
    ],
    ['an expired credential', { ...good, 'eligo-credential': credential({ exp: Date.now() - 1 }) }, 'Unauthenticated'],
    [
      'a credential that never expires',
      { ...good, 'eligo-credential': credential({ exp: Date.now() + 1e12 }) },
      'Unauthenticated',
    ],
    [
      'a service that is not on the list',
      { ...good, 'eligo-credential': catalog.credentialFor('probe') },
      'PermissionDenied',
    ],
    ['no context', { 'eligo-credential': good['eligo-credential'] }, 'Unauthenticated'],
    ['an unsigned context', { ...good, 'eligo-caller': unsigned() }, 'Unauthenticated'],
    ['a forged context', { ...good, 'eligo-caller': tampered(good['eligo-caller']) }, 'Unauthenticated'],
    [
      'a context signed by somebody else than its issuer',
      { ...good, 'eligo-caller': signedBy('checkout', { issuer: 'gateway' }) },
      'Unauthenticated',
    ],
    [
      'an expired context',
      { ...good, 'eligo-caller': signedBy('gateway', { expiresAtMs: BigInt(Date.now() - 1) }) },
      'Unauthenticated',
    ],
    [
      'a context that lives for a year',
      { ...good, 'eligo-caller': signedBy('gateway', { expiresAtMs: BigInt(Date.now()) + 31_536_000_000n }) },
      'Unauthenticated',
    ],
    [
      'a context issued by a service and presented by another',
      { ...good, 'eligo-caller': checkout.tokenOf(checkout.callerFor(scope)) ?? '' },
      'PermissionDenied',
    ],
    ['a credential in place of a context', { ...good, 'eligo-caller': good['eligo-credential'] }, 'Unauthenticated'],
    ['a context in place of a credential', { ...good, 'eligo-credential': good['eligo-caller'] }, 'Unauthenticated'],
  ])('%s is refused', async (_, header, code) => {
    expect(await call(header as Record<string, string>)).toBe(code);
  });

  test('a service works for itself, and with the word of the gateway', async () => {
    const as = { 'eligo-credential': checkout.credentialFor('probe') };
    expect(await call({ ...as, 'eligo-caller': checkout.tokenOf(checkout.callerFor(scope)) ?? '' })).toBe('served');
    expect(await call({ ...as, 'eligo-caller': good['eligo-caller'] })).toBe('served');
  });
});

test('a method without context sees an account that owns nothing', async () => {
  const { probe: client, close } = await serveProbe(
    'in process',
    { open: (_, { scope: { accountId, testMode } }) => ({ text: `${accountId}|${testMode}` }) },
    { as: checkout },
  );
  expect((await client.open({}, {})).text).toBe('|true');
  await close();
});

test('an unsigned context is not even sent', async () => {
  const { probe: client, close } = await serveProbe('in process', { echo: () => ({}) });
  const made = create(CallerContextSchema, { accountId: 'facct_2' });
  await expect(client.echo({}, { caller: made })).rejects.toThrow('neither received nor issued');
  await close();
});

test('credentials and contexts are signed once per half life and verified once', () => {
  let now = Date.now();
  const clock = { now: () => new Date(now) };
  const signer = identityOf('gateway', clock);
  const verifier = identityOf('probe', clock);
  const credentialThen = signer.credentialFor('probe');
  const callerThen = signer.callerFor(scope);
  expect(signer.credentialFor('probe')).toBe(credentialThen);
  expect(signer.callerFor({ ...scope })).toBe(callerThen);
  expect(signer.callerFor({ ...scope, testMode: false })).not.toBe(callerThen);
  const token = signer.tokenOf(callerThen) ?? '';
  const seen = verifier.verifyCaller(token, 'gateway');
  expect(verifier.verifyCaller(token, 'checkout')).toBe(seen);
  expect(verifier.tokenOf(seen)).toBe(token);

  now += 61_000;
  expect(signer.credentialFor('probe')).not.toBe(credentialThen);
  expect(signer.callerFor(scope)).not.toBe(callerThen);
  expect(verifier.verifyCaller(token, 'gateway')).toBe(seen);
  now += 60_000;
  expect(() => verifier.verifyCaller(token, 'gateway')).toThrow('expired');
  expect(() => verifier.verifyCredential(credentialThen)).toThrow('expired');
});

describe('when the wall clock is set', () => {
  const start = Date.now();
  let wallMs: number;
  let elapsedMs: number;
  const later = (ms: number) => {
    wallMs += ms;
    elapsedMs += ms;
  };
  const identityHere = (name: string) => identityOf(name, { now: () => new Date(wallMs) }, () => elapsedMs);
  beforeEach(() => {
    wallMs = start;
    elapsedMs = 5_000;
  });

  test.each([
    ['an hour ahead', 3_600_000],
    ['an hour back', -3_600_000],
    ['a day back', -86_400_000],
  ])(
    '%s, calls under way and new ones are accepted, also by a process that starts then, and nothing lives longer [D14.227]',
    (_, jumpMs) => {
      const [signer, verifier] = [identityHere('gateway'), identityHere('probe')];
      const before = { credential: signer.credentialFor('probe'), caller: tokenFrom(signer) };
      const seen = { credential: signer.credentialFor('probe'), verifier: identityHere('probe') };
      expect(seen.verifier.verifyCredential(seen.credential)).toBe('gateway');

      wallMs += jumpMs;
      const after = { credential: signer.credentialFor('probe'), caller: tokenFrom(signer) };
      for (const { credential, caller } of [before, after]) {
        expect(verifier.verifyCredential(credential)).toBe('gateway');
        expect(verifier.verifyCaller(caller, 'gateway').accountId).toBe(scope.accountId);
      }
      const started = identityHere('probe');
      expect(started.verifyCredential(after.credential)).toBe('gateway');
      expect(started.verifyCaller(after.caller, 'gateway').accountId).toBe(scope.accountId);

      later(121_000);
      for (const one of [verifier, seen.verifier, identityHere('probe')]) {
        expect(() => one.verifyCredential(before.credential)).toThrow('expired');
        expect(() => one.verifyCredential(after.credential)).toThrow('expired');
        expect(() => one.verifyCaller(before.caller, 'gateway')).toThrow('expired');
      }
    },
  );

  function tokenFrom(signer: Identity): string {
    return signer.tokenOf(signer.callerFor(scope)) ?? '';
  }
});

test('a context that serves many calls cannot be changed by any of them', () => {
  const caller = probe.verifyCaller(
    gateway.tokenOf(gateway.callerFor({ ...scope, scopes: ['read'] })) ?? '',
    'gateway',
  );
  expect(() => Object.assign(caller, { accountId: 'facct_2' })).toThrow(TypeError);
  expect(() => caller.scopes.push('write')).toThrow(TypeError);
});

test('everything that a context says crosses', () => {
  const init = {
    ...scope,
    scopes: ['sessions_write'],
    features: ['manual_capture'],
    siblingAccountIds: ['facct_2', 'facct_3'],
    keyId: 'fkey_1',
  };
  expect(probe.verifyCaller(gateway.tokenOf(gateway.callerFor(init)) ?? '', 'gateway')).toMatchObject(init);
});

test('a context tells an account that substantiates nothing from one whose issuer does not know', () => {
  const said = (substantiation: string | null | undefined) => {
    const token = gateway.tokenOf(gateway.callerFor({ ...scope, substantiation }));
    const { substantiation: how, knowsSubstantiation } = probe.verifyCaller(token ?? '', 'gateway');
    return [how, knowsSubstantiation];
  };
  expect([said(undefined), said(null), said('iias')]).toEqual([
    ['', false],
    ['', true],
    ['iias', true],
  ]);
});

test('a server with a method that declares no callers does not start', () => {
  const handlers = [implement(UnguardedService, {})];
  expect(() => rpcServer({ handlers, identity: probe })).toThrow('does not declare its callers');
});

test('a server with a method without callers does not start', () => {
  const handlers = [implement(UnreachableService, {})];
  expect(() => rpcServer({ handlers, identity: probe })).toThrow('declares no callers');
});

test('an implementation with a method that the service does not have is refused', () => {
  expect(() => implement(ProbeService, { ecko: () => ({}) } as never)).toThrow('has no method ecko');
});

test('keys of another kind, or none, are refused without being shown', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
  const privateKey = rsa.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  expect(() => openIdentity({ name: 'x', privateKey, publicKeys: {} })).toThrow('not an Ed25519 key');
  const shown = (() => {
    try {
      return openIdentity({ name: 'x', privateKey: 'c2VjcmV0', publicKeys: {} });
    } catch (error) {
      return String(error);
    }
  })();
  expect(shown).not.toContain('c2VjcmV0');
});

function stranger() {
  const own = generateComponentKeys(['gateway']);
  return openIdentity({ name: 'gateway', privateKey: own.privateKeys.gateway ?? '', publicKeys: own.publicKeys });
}

function credential(over: object): string {
  const payload = Buffer.from(JSON.stringify({ iss: 'gateway', aud: 'probe', ...over }));
  return signToken('credential', payload, readPrivateKey(keys.privateKeys.gateway ?? ''));
}

function signedBy(name: string, over: object): string {
  const soon = BigInt(Date.now() + 60_000);
  const context = create(CallerContextSchema, { ...scope, issuer: name, expiresAtMs: soon, ...over });
  return signToken('caller', toBinary(CallerContextSchema, context), readPrivateKey(keys.privateKeys[name] ?? ''));
}

function unsigned(): string {
  const [payload] = (gateway.tokenOf(byGateway().caller) ?? '').split('.');
  return `${payload}.`;
}

function tampered(token: string): string {
  const [payload = '', signature] = token.split('.');
  const bytes = Buffer.from(payload, 'base64url');
  bytes[bytes.length - 3] = (bytes[bytes.length - 3] ?? 0) ^ 1;
  return `${bytes.toString('base64url')}.${signature}`;
}
