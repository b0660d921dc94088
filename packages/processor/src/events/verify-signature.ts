import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far the time of a signature may be from ours: as long as Stripe's own libraries accept a copied request. */
const toleranceSeconds = 300;
const mostHeaderLength = 2_048;
// While a secret is rotated, each request carries a signature of both.
const mostSignatures = 10;

/**
 * Whether the `Stripe-Signature` header signs exactly these bytes with one of the secrets, now: `t=<seconds>,v1=<HMAC-SHA256 of "<t>.<body>" in hex>`,
 * with several `v1` while a secret is rotated.
 */
export function isSigned(
  body: Buffer,
  header: string | undefined,
  secrets: readonly string[],
  nowMs: number = Date.now(),
): boolean {
  if (header === undefined || header.length > mostHeaderLength) return false;
  const fields = header.split(',').map((field) => field.trim().split('=', 2));
  const time = fields.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(time) || Math.abs(nowMs / 1_000 - Number(time)) > toleranceSeconds) return false;
  const given = fields.flatMap(([name, value]) =>
    name === 'v1' && value !== undefined && /^[\da-f]{64}$/.test(value) ? [Buffer.from(value, 'hex')] : [],
  );
  if (given.length > mostSignatures) return false;
  return secrets.some((secret) => {
    const own = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, own));
  });
}
