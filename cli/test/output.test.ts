import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { lineWriter } from '../src/output.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

it('ends without a word when its reader has had enough, as head does', async () => {
  const child = spawn(process.execPath, [main, 'help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  // Closed before anything is written: every write fails.
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said += data.toString();
  });
  const [code, signal] = await once(child, 'close');
  expect({ code, signal, said }).toEqual({ code: 0, signal: null, said: '' });
});

it('writes nothing more to a reader that is gone, and says so once', () => {
  const written: string[] = [];
  let fail: ((error: NodeJS.ErrnoException) => void) | undefined;
  let closed = 0;
  const say = lineWriter(
    {
      write: (text) => written.push(text) > 0,
      on: (_, listener) => {
        fail = listener;
      },
    },
    () => {
      closed += 1;
    },
  );
  say('one');
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  fail?.(gone);
  fail?.(gone);
  say('two');
  expect({ written, closed }).toEqual({ written: ['one\n'], closed: 1 });
  expect(() => fail?.(Object.assign(new Error('no space'), { code: 'ENOSPC' }))).toThrow('no space');
});
