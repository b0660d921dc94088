import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';
import { expect, it } from 'vitest';
import { bugs } from '../src/seeded-bugs/bugs.ts';

it.each(bugs.map((bug) => [bug.name, bug] as const))(
  'the code that a seeded bug changes is there once: %s',
  (_, bug) => {
    for (const { file, find } of bug.edits) {
      expect({ file, times: readFileSync(join(repositoryRoot, file), 'utf8').split(find).length - 1 }).toEqual({
        file,
        times: 1,
      });
    }
  },
);
