import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type FoodPolicy, type ImportProgress, importProductCodes, setFoodPolicy } from '@eligo/catalog';
import { parseTime } from '@eligo/contract';
import { findAccount } from '@eligo/gateway/accounts';
import { type Command, UsageError } from '../command.ts';
import { withAccounts, withCatalog } from '../connect.ts';
import { progressBar } from '../progress-bar.ts';

/** What an operator gives the catalog: the product-code list and food policies. */
export const catalogCommands: readonly Command[] = [
  {
    name: 'product-codes import',
    usage: 'FILE [--name N] [--effective-at TIME]',
    summary:
      'Imports a CSV as the next version of the product-code list. Columns: code, hsa_fsa_eligibility; optional: effective_from, effective_to, label.',
    options: { name: { type: 'string' }, 'effective-at': { type: 'string' } },
    words: ['FILE'],
    async run({ words: [file = ''], text, say }) {
      const { size } = await stat(file);
      const effectiveAt = timeOf(text('effective-at'));
      const bar = progressBar(say);
      const result = await withCatalog((database) =>
        importProductCodes({
          database,
          source: createReadStream(file),
          name: text('name') ?? basename(file),
          ...(effectiveAt === undefined ? {} : { effectiveAt }),
          onProgress: (progress) => bar(shareOf(progress, size), wordsOf(progress)),
        }),
      );
      bar(1, `${result.total} codes`);
      const { version, isNew, total, added, changed, removed, rejected, rejections } = result;
      const effective = result.effectiveAt?.toISOString() ?? null;
      const isLater = result.effectiveAt !== null && result.effectiveAt.getTime() > Date.now();
      return {
        json: { version, is_new: isNew, effective_at: effective, total, added, changed, removed, rejected, rejections },
        lines: [
          isNew
            ? `version ${version}: ${total} codes`
            : `no changes; version ${version} stays in effect, ${total} codes`,
          // A version never overtakes the one before it, which may have been given a later day.
          ...(isLater ? [`takes effect at ${effective}; until then the previous version applies`] : []),
          `${added} added, ${changed} changed, ${removed} removed, ${rejected} lines rejected`,
          ...rejections.slice(0, 10).map(({ line, reason }) => `  line ${line}: ${reason}`),
        ],
      };
    },
  },
  {
    name: 'food-policies set',
    usage: 'FILE --account A --mode test|live',
    summary:
      'Sets an account’s own food policy, effective now. JSON: {eligible_class, categories: {"*": {added_sugar_g: "10", …}}}, limits per 100 g.',
    options: { account: { type: 'string' }, mode: { type: 'string' } },
    words: ['FILE'],
    async run({ words: [file = ''], needed }) {
      const mode = needed('mode');
      if (mode !== 'test' && mode !== 'live') throw new UsageError('--mode must be test or live');
      const thresholds = JSON.parse(await readFile(file, 'utf8')) as FoodPolicy['thresholds'];
      const scope = { accountId: needed('account'), testMode: mode === 'test' };
      // The catalog has no list of accounts: it would store an unused policy for an account that does not exist.
      const account = await withAccounts((database) => findAccount(database, scope.accountId));
      if (account === undefined) throw new Error('No such account');
      const version = await withCatalog((database) => setFoodPolicy(database, scope, thresholds, new Date()));
      return { json: { version }, lines: [`version ${version} of the account's food policy is in effect`] };
    },
  },
];

function timeOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const ms = parseTime(text);
  if (ms === undefined) throw new UsageError('--effective-at must be an ISO 8601 time');
  return new Date(ms);
}

// Reading is most of the work; the comparison is one statement, of which nothing is known until it ends.
function shareOf({ phase, bytes }: ImportProgress, size: number): number {
  return phase === 'comparing' ? 0.95 : 0.95 * Math.min(bytes / Math.max(size, 1), 1);
}

function wordsOf({ phase, rows, rejected }: ImportProgress): string {
  return `${phase} ${rows.toLocaleString('en')} codes${rejected > 0 ? `, ${rejected} rejected` : ''}`;
}
