import { createKey, type IssuedKey, type KeyRecord, listKeys, revokeKey, rollKey } from '@eligo/gateway/accounts';
import { type Command, UsageError } from '../command.ts';
import { withAccounts } from '../connect.ts';
import { durationMs } from '../duration.ts';

/** API keys. */
export const keyCommands: readonly Command[] = [
  {
    name: 'keys create',
    usage: '--account ACCOUNT --mode test|live [--scopes a,b] [--rate-limit N]',
    summary:
      'Creates an API key and shows it once. Without --scopes the key has every scope. --rate-limit 0 means no limit.',
    options: {
      account: { type: 'string' },
      mode: { type: 'string' },
      scopes: { type: 'string' },
      'rate-limit': { type: 'string' },
    },
    async run(given) {
      const scopes = given.text('scopes')?.split(',').filter(Boolean);
      const rateLimit = wholeNumber(given.text('rate-limit'));
      const key = await withAccounts((database) =>
        createKey(database, {
          accountId: given.needed('account'),
          testMode: modeOf(given.needed('mode')) === 'test',
          scopes,
          rateLimit,
        }),
      );
      return issued(key);
    },
  },
  {
    name: 'keys list',
    usage: '--account ACCOUNT',
    summary: 'Lists an account’s keys, including revoked ones, oldest first.',
    readsOnly: true,
    showsAccounts: true,
    options: { account: { type: 'string' } },
    async run(given) {
      const keys = await withAccounts((database) => listKeys(database, given.needed('account')));
      return { json: { keys }, lines: [...keys.map(lineOf), `${keys.length} keys`] };
    },
  },
  {
    name: 'keys revoke',
    usage: 'KEY_ID',
    summary: 'Revokes a key. Every gateway rejects it within five seconds.',
    words: ['KEY_ID'],
    options: {},
    async run(given) {
      const key = await withAccounts((database) => revokeKey(database, given.words[0] ?? ''));
      return { json: key, lines: [lineOf(key)] };
    },
  },
  {
    name: 'keys roll',
    usage: 'KEY_ID [--overlap 24h]',
    summary: 'Creates a replacement key with the same rights. The old key works until the overlap ends.',
    words: ['KEY_ID'],
    options: { overlap: { type: 'string', default: '24h' } },
    async run(given) {
      const overlapMs = durationMs(given.needed('overlap'));
      return issued(await withAccounts((database) => rollKey(database, given.words[0] ?? '', { overlapMs })));
    },
  },
];

function issued(key: IssuedKey) {
  return {
    json: { key_id: key.key_id, api_key: key.api_key, mode: key.mode, scopes: key.scopes },
    lines: [`key id  ${key.key_id}`, `key     ${key.api_key}`, 'Save the key now; it is not shown again.'],
  };
}

function lineOf(key: KeyRecord): string {
  const scopes = key.scopes === null ? 'all scopes' : key.scopes.join(',');
  const end = key.revoked_at ? `revoked ${key.revoked_at}` : key.expires_at ? `expires ${key.expires_at}` : 'valid';
  return `${key.key_id}  ${key.mode}  …${key.last4}  ${scopes}  ${end}`;
}

function modeOf(text: string): 'test' | 'live' {
  if (text === 'test' || text === 'live') return text;
  throw new UsageError('--mode must be test or live');
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError('--rate-limit must be a whole number of requests per second');
}
