import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkProof, generateProofKey, headerNames, operatorHeaders } from '../src/operator-proof.ts';

const key = generateProofKey();
const call = { method: 'checkout.DecideLetter', scope: undefined };
const body = '{}';
const madeAt = Date.parse('2026-03-01T12:00:00Z');
const clockAt = (ms: number) => ({ now: () => new Date(madeAt + ms) });
const headers = operatorHeaders({ ...call, body }, { token: 'token', proofKey: key.privateKey }, clockAt(0));

test.each([
  ['at once', 0, { id: expect.any(String) }],
  ['until a minute has passed', 59_999, { id: expect.any(String) }],
  ['after a minute', 60_000, { problem: 'expired' }],
  ['to a component whose clock is a minute behind', -60_000, { id: expect.any(String) }],
  ['to a component whose clock is further behind', -60_001, { problem: 'expired' }],
])('a proof that comes %s is accepted or expired by the clock of the component [D14.196]', (_, afterMs, checked) => {
  const digest = createHash('sha256').update(body).digest();
  const proof = headers[headerNames.proof] ?? '';
  expect(checkProof(proof, call, { digest, publicKey: key.publicKey, clock: clockAt(afterMs) })).toEqual(checked);
});
