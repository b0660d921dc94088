import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { commands } from '../src/commands.ts';
import { runCommandLine } from '../src/index.ts';

async function eligo(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

it.each([[[]], [['help']], [['--help']]])('lists every command, exiting with 0: %s', async (args) => {
  const { code, out, err } = await eligo(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  for (const { name } of commands) expect(out).toContain(`\n  ${name}`);
});

it.each([[['help', 'keys', 'roll']], [['keys', 'roll', '--help']], [['keys', 'roll', 'fakey_x', '--help']]])(
  'explains one command: %s',
  async (args) => {
    expect(await eligo(...args)).toEqual({
      code: 0,
      out: expect.stringMatching(/^Usage: .*keys roll KEY_ID \[--overlap 24h\]\n\nCreates a replacement key/),
      err: '',
    });
  },
);

it.each([[['help', 'keys']], [['keys', '--help']]])('explains the commands of one kind: %s', async (args) => {
  const { code, out } = await eligo(...args);
  expect(code).toBe(0);
  expect(out).toContain('keys revoke');
  expect(out).not.toContain('accounts');
});

it('says in one line that a command does not exist, and which ones there are of a kind, exiting with 2', async () => {
  expect(await eligo('acounts', 'list')).toEqual({
    code: 2,
    out: '',
    err: 'eligo: Unknown command "acounts list". Run npm run -s eligo -- help for a list.',
  });
  expect(await eligo('keys')).toMatchObject({ code: 2, out: '', err: expect.stringContaining('keys revoke') });
  expect(await eligo('help', 'nothing')).toMatchObject({ code: 2, out: '' });
});

it('says in words that no stack was started, does not run, or does not answer', async () => {
  const home = mkdtempSync(join(tmpdir(), 'eligo-home-'));
  try {
    vi.stubEnv('ELIGO_HOME', home);
    expect(await eligo('accounts', 'list')).toMatchObject({
      code: 1,
      err: expect.stringContaining('No stack has been started'),
    });
    // The highest pid that Linux gives is 4,194,304.
    writeFileSync(
      join(home, 'stack.json'),
      JSON.stringify({ processes: [{ name: 'gateway', pid: 4_194_305, admin: null }] }),
    );
    expect(await eligo('ledger', 'check')).toMatchObject({ code: 1, err: expect.stringContaining('is not running') });
    vi.stubEnv('ELIGO_URL', 'http://127.0.0.1:1');
    vi.stubEnv('ELIGO_API_KEY', 'fsk_test_x');
    expect(await eligo('trigger', 'customer.created')).toMatchObject({
      code: 1,
      err: 'eligo: http://127.0.0.1:1 does not respond.',
    });
  } finally {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  }
});

it('is documented: the page has every command with its usage, and no other', () => {
  const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8');
  const rows = page.split('\n').flatMap((line) => /^\| `([^`]+)` \|/.exec(line)?.[1]?.replaceAll('\\|', '|') ?? []);
  expect(rows.sort()).toEqual(commands.map(({ name, usage }) => `${name} ${usage}`.trim()).sort());
});
