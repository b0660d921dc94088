import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testDatabase } from '@eligo/testkit';
import { setup, teardown } from '@eligo/testkit/global-setup';
import { gtin14 } from '../src/domain/product-code.ts';
import { importProductCodes, type ProductCodeImportResult } from '../src/import/product-codes.ts';
import { catalogService } from '../src/service.ts';

// Imports a generated list of 2,000,000 codes (or as many as the first argument says), then the same list again, then one in which every
// thousandth code has another class: `npm run check:import -w @eligo/catalog -- 2000000`. On a server of its own, unless
// ELIGO_TEST_POSTGRES_URL names one.
const count = Number(process.argv[2] ?? 2_000_000);
await setup();
const place = await testDatabase(catalogService);
const folder = mkdtempSync(join(tmpdir(), 'product-codes-'));
try {
  const database = place.open('catalog', { statementTimeoutMs: 600_000 });
  const [plain, changed] = [join(folder, 'plain.csv'), join(folder, 'changed.csv')];
  await writeList(plain, (index) => (index % 3 === 0 ? 'not_eligible' : 'auto_substantiation'));
  await writeList(changed, (index) =>
    index % 1000 === 0 ? 'vision' : index % 3 === 0 ? 'not_eligible' : 'auto_substantiation',
  );
  for (const [what, path] of [
    ['first import', plain],
    ['the same again', plain],
    ['one in a thousand changed', changed],
  ] as const) {
    const started = performance.now();
    let readAt = started;
    const result = await importProductCodes({
      database,
      source: createReadStream(path, { highWaterMark: 1 << 20 }),
      name: what,
      onProgress: ({ phase }) => {
        if (phase === 'reading') readAt = performance.now();
      },
    });
    tell(what, result, readAt - started, performance.now() - started);
  }
} finally {
  rmSync(folder, { recursive: true });
  await place.drop();
  await teardown();
}

function tell(what: string, result: ProductCodeImportResult, readMs: number, totalMs: number): void {
  const { version, total, added, changed, removed, rejected } = result;
  console.log(
    `${what}: version ${version}, ${total} codes (${added} added, ${changed} changed, ${removed} removed, ${rejected} rejected), ` +
      `${(readMs / 1000).toFixed(1)} s to read, ${(totalMs / 1000).toFixed(1)} s in all`,
  );
}

async function writeList(path: string, classOf: (index: number) => string): Promise<void> {
  const file = createWriteStream(path);
  file.write('code,hsa_fsa_eligibility,label\n');
  for (let index = 0; index < count; index++) {
    const body = String(30_000_000_000 + index);
    const isTaken = file.write(`${body}${checkDigitOf(body)},${classOf(index)},Product ${index}\n`);
    if (!isTaken) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
}

function checkDigitOf(body: string): number {
  for (let digit = 0; digit < 10; digit++) if (gtin14(`${body}${digit}`) !== undefined) return digit;
  throw new Error(`no check digit for ${body}`);
}
