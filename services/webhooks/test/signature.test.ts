import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { newSigningSecret, signatureHeader, signingKey } from '../src/domain/signature.ts';

describe('signatures (Standard Webhooks 1.0.0)', () => {
  it("gives the published vector's signature", () => {
    const key = signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const body = Buffer.from('{"test": 2432232314}');
    expect(signatureHeader([key], { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSeconds: 1614265330, body })).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('verifies with the reference library for any JSON body, under each key of a roll, the old one first [HOOK-1]', () => {
    const [old, fresh] = [newSigningSecret(), newSigningSecret()];
    fc.assert(
      fc.property(fc.json(), (json) => {
        const timestampSeconds = Math.floor(Date.now() / 1000);
        const header = signatureHeader([signingKey(old), signingKey(fresh)], {
          id: 'fevt_1',
          timestampSeconds,
          body: Buffer.from(json),
        });
        const headers = {
          'webhook-id': 'fevt_1',
          'webhook-timestamp': String(timestampSeconds),
          'webhook-signature': header,
        };
        for (const secret of [old, fresh]) new Webhook(secret).verify(json, headers);
        const first = { ...headers, 'webhook-signature': header.split(' ')[0] ?? '' };
        new Webhook(old).verify(json, first);
        expect(() => new Webhook(fresh).verify(json, first)).toThrow();
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['another id', { 'webhook-id': 'fevt_2' }],
    ['another time', { 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 1) }],
    ['an empty signature', { 'webhook-signature': '' }],
    ['half a signature', { 'webhook-signature': 'v1,abc' }],
    ['an unknown version', { 'webhook-signature': 'v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' }],
  ])('does not verify with %s', (_name, change) => {
    const secret = newSigningSecret();
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const header = signatureHeader([signingKey(secret)], { id: 'fevt_1', timestampSeconds, body: Buffer.from('{}') });
    const headers = {
      'webhook-id': 'fevt_1',
      'webhook-timestamp': String(timestampSeconds),
      'webhook-signature': header,
    };
    new Webhook(secret).verify('{}', headers);
    expect(() => new Webhook(secret).verify('{}', { ...headers, ...change })).toThrow();
  });

  it('does not verify five minutes and a second later or earlier', () => {
    const secret = newSigningSecret();
    // No second begins between the signature and its check.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const shift of [301, -301]) {
      const timestampSeconds = Math.floor(Date.now() / 1000) + shift;
      const header = signatureHeader([signingKey(secret)], { id: 'fevt_1', timestampSeconds, body: Buffer.from('{}') });
      const headers = {
        'webhook-id': 'fevt_1',
        'webhook-timestamp': String(timestampSeconds),
        'webhook-signature': header,
      };
      expect(() => new Webhook(secret).verify('{}', headers)).toThrow();
    }
  });

  it('makes secrets of 32 random bytes and refuses short ones', () => {
    expect(signingKey(newSigningSecret()).symmetricKeySize).toBe(32);
    expect(() => signingKey('whsec_YWJj')).toThrow(RangeError);
    expect(() => signingKey('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).toThrow(RangeError);
  });
});
