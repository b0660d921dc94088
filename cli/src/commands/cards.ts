import { readFile, stat } from 'node:fs/promises';
import { importIssuerRanges } from '@eligo/checkout';
import type { Command } from '../command.ts';
import { withComponent } from '../connect.ts';

/** The whole file is read into memory. */
const maxBytes = 8_388_608;

/** What an operator knows of cards. */
export const cardCommands: readonly Command[] = [
  {
    name: 'issuer-ranges import',
    usage: 'FILE',
    summary:
      'Replaces the list of issuer ranges, by which cards are recognized that the processor does not describe. CSV columns: first, last, hsa_fsa.',
    options: {},
    words: ['FILE'],
    async run({ words: [file = ''] }) {
      const { size } = await stat(file);
      if (size > maxBytes) throw new Error(`${file} is larger than ${maxBytes} bytes`);
      const text = await readFile(file, 'utf8');
      const { ranges, health } = await withComponent('checkout', (database) => importIssuerRanges(database, text));
      return { json: { ranges, health }, lines: [`${ranges} ranges, ${health} of HSA and FSA cards`] };
    },
  },
];
