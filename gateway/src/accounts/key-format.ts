import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** 32 characters of base62: 190 random bits. */
const randomLength = 32;
/** A CRC32 is below 62^6. */
const checkLength = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefixes = { live: 'fsk_', test: 'fsk_test_' } as const;

/** What secret scanners look for. */
export const keyPattern = /fsk_(?:test_)?[0-9A-Za-z]{38}/;

/** A new key of the format `fsk_…` or `fsk_test_…`: random characters and a CRC32 of all before it, in base62 (decisions 2). */
export function newKey(testMode: boolean): string {
  const prefix = testMode ? prefixes.test : prefixes.live;
  let random = '';
  for (let i = 0; i < randomLength; i += 1) random += alphabet.charAt(randomInt(62));
  return prefix + random + checkOf(prefix + random);
}

/** Whether a text can be a key at all: its form and its CRC. Costs no look-up, so that guesses cost none. */
export function isKey(text: string): boolean {
  if (text.length !== prefixes.live.length + 38 && text.length !== prefixes.test.length + 38) return false;
  const random = text.startsWith(prefixes.test) ? text.slice(prefixes.test.length) : text.slice(prefixes.live.length);
  if (!text.startsWith(prefixes.live) || !/^[0-9A-Za-z]{38}$/.test(random)) return false;
  return text.slice(-checkLength) === checkOf(text.slice(0, -checkLength));
}

/** The form in which a key, or an operator's credential, is kept and looked up. */
export function keyHash(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function checkOf(text: string): string {
  let rest = crc32(text);
  let check = '';
  for (let i = 0; i < checkLength; i += 1) {
    check = alphabet.charAt(rest % 62) + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}
