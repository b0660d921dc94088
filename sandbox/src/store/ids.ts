import { randomBytes } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const timeDigits = 8;
const randomDigits = 16;
let pool = randomBytes(0);
let used = 0;
let lastTime = '';
let lastMs = 0;

/**
 * `pi_`, `ch_`, … and 24 characters in Stripe's alphabet. They sort by the millisecond in which they were made, so
 * that a new row lands at the end of its index.
 */
export function newRecordId(prefix: string, nowMs: number): string {
  return `${prefix}_${timeText(nowMs)}${randomText(randomDigits)}`;
}

export function randomText(length: number): string {
  let text = '';
  for (let digit = 0; digit < length; digit++) {
    if (used >= pool.length) {
      pool = randomBytes(4096);
      used = 0;
    }
    // 62 does not divide 256: the bias of a modulo does not matter for an id.
    text += alphabet[(pool[used++] ?? 0) % alphabet.length];
  }
  return text;
}

function timeText(nowMs: number): string {
  if (nowMs === lastMs) return lastTime;
  let rest = nowMs;
  let text = '';
  for (let digit = 0; digit < timeDigits; digit++) {
    text = (alphabet[rest % alphabet.length] ?? '0') + text;
    rest = Math.floor(rest / alphabet.length);
  }
  lastMs = nowMs;
  lastTime = text;
  return text;
}
