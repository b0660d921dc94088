import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { gtin14, gtin14OfUpc, lookupCodes } from '../src/domain/product-code.ts';
import { csvRecords } from '../src/import/csv-lines.ts';
import { importProductCodes, type ProductCodeImport } from '../src/import/product-codes.ts';
import { type Fixture, openFixture, refusalOf } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => on.clock.set(undefined));

/** A code whose twelfth digit is right. */
function upc(number: number): string {
  const body = String(number).padStart(11, '0');
  for (let check = 0; check < 10; check++) if (gtin14(`${body}${check}`)) return `${body}${check}`;
  throw new Error('no digit checks');
}

async function* chunksOf(text: string, size = 7) {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

const importList = (lines: string[], options: Partial<ProductCodeImport> = {}) =>
  importProductCodes({ database: on.database, source: chunksOf(lines.join('\n')), name: 'test', ...options });

async function classOf(code: string): Promise<{ class: string | undefined; version: string | undefined }> {
  const shop = on.account();
  const { items } = await on.gateway.evaluateEligibility({ items: [{ item: { case: 'upcCode', value: code } }] }, shop);
  return { class: items[0]?.decision?.hsaFsaEligibility, version: items[0]?.decision?.ruleVersion };
}

describe('a product code', () => {
  it('is a GTIN of 8, 12, 13 or 14 digits with a right check digit, whatever stands between them [API-5]', () => {
    expect(gtin14('036000291452')).toBe('00036000291452');
    expect(gtin14('4006381333931')).toBe('04006381333931');
    expect(gtin14('0 36000-29145 2')).toBe('00036000291452');
    expect(gtin14('96385074')).toBe('00000096385074');
    for (const wrong of ['036000291453', '36000291452', '', 'abc', '4006381333932', '1'.repeat(100)]) {
      expect(gtin14(wrong)).toBeUndefined();
    }
  });

  it('of eight digits in the UPC field is a UPC-E if it checks as one, and else a GTIN-8', () => {
    expect(gtin14OfUpc('04252614')).toBe('00042100005264');
    expect(gtin14OfUpc('96385074')).toBe('00000096385074');
    // By the last of the six digits in the middle; the long forms are written out by the table of the GS1 general specifications.
    const forms = [
      ['01234505', '012000003455'],
      ['01234514', '012100003454'],
      ['01234523', '012200003453'],
      ['01234531', '012300000451'],
      ['01234543', '012340000053'],
      ['01234558', '012345000058'],
      ['01234565', '012345000065'],
      ['01234572', '012345000072'],
      ['01234589', '012345000089'],
      ['01234596', '012345000096'],
      ['11234502', '112000003452'],
    ] as const;
    for (const [short, long] of forms) expect([short, gtin14OfUpc(short)]).toEqual([short, `00${long}`]);
  });

  it('of a product is tried before the one that it refers to; what does not check is left out [D14.21]', () => {
    const product = { upcCode: '036000291452', gtin: 'broken', referenceGtin: '4006381333931' };
    expect(lookupCodes(product)).toEqual(['00036000291452', '04006381333931']);
    const whole = { ...product, gtin: '96385074' };
    expect(lookupCodes(whole)).toEqual(['00000096385074', '00036000291452', '04006381333931']);
    expect(lookupCodes({ upcCode: null, gtin: '036000291452', referenceGtin: '036000291452' })).toEqual([
      '00036000291452',
    ]);
  });
});

describe('CSV', () => {
  it('may hold commas, quotes and line ends in quotes, with either line end, however it is cut', async () => {
    const text = 'a,b\r\n"x,1","say ""hi"""\n\n"two\nlines",\n,last';
    for (const size of [1, 2, 3, 1000]) {
      const records = [];
      for await (const some of csvRecords(chunksOf(text, size))) records.push(...some);
      expect(records.map(({ fields }) => fields)).toEqual([
        ['a', 'b'],
        ['x,1', 'say "hi"'],
        ['two\nlines', ''],
        ['', 'last'],
      ]);
      expect(records.map(({ line }) => line)).toEqual([1, 2, 4, 6]);
    }
  });
});

describe('the import of a product-code list', () => {
  const header = 'code,hsa_fsa_eligibility,effective_from,effective_to,label';
  const [a, b, c, d] = [upc(1), upc(2), upc(3), upc(4)];

  it('makes versions, of which a re-import changes only what changed [API-5]', async () => {
    const first = await importList([
      header,
      `${a},auto_substantiation,,,"Plasters, 20"`,
      `${b},vision,,,`,
      `${c},not_eligible,,,`,
    ]);
    expect(first).toMatchObject({ version: 1, isNew: true, total: 3, added: 3, changed: 0, removed: 0, rejected: 0 });
    const rowOf = async (code: string) =>
      on.place.admin('select xmin::text, ctid::text from catalog.product_codes where gtin = $1', [`00${code}`]);
    const untouched = await rowOf(b);
    const second = await importList([header, `${a},private_label,,,`, `${b},vision,,,`, `${d},service,,,`]);
    expect(second).toMatchObject({ version: 2, isNew: true, total: 3, added: 1, changed: 1, removed: 1 });
    expect(await rowOf(b)).toEqual(untouched);
    const third = await importList([header, `${d},service,,,`, `${b},vision,,,`, `${a},private_label,,,`]);
    expect(third).toMatchObject({ version: 2, isNew: false, added: 0, changed: 0, removed: 0 });
    expect(await classOf(a)).toEqual({ class: 'private_label', version: '2' });
    expect(await classOf(c)).toEqual({ class: undefined, version: '' });
  });

  it('keeps the versions, so that a question as of then has the answer of then [API-5]', async () => {
    const versions = await on.place.admin<{ version: number; effective_at: Date }>(
      'select version, effective_at from catalog.product_code_versions order by version',
    );
    on.clock.set(versions[0]?.effective_at);
    expect(await classOf(a)).toEqual({ class: 'auto_substantiation', version: '1' });
    expect(await classOf(c)).toEqual({ class: 'not_eligible', version: '1' });
    on.clock.set(versions[1]?.effective_at);
    expect(await classOf(a)).toEqual({ class: 'private_label', version: '2' });
    on.clock.set(new Date('2020-01-01T00:00:00Z'));
    expect(await classOf(a)).toEqual({ class: undefined, version: '' });
  });

  it('never takes effect before it is made, nor before the version before it [D14.57]', async () => {
    const later = new Date(Date.now() + 3_600_000);
    const dated = [header, `${a},vision,2026-01-01,2199-06-01,`, `${a},prescription,2199-06-01,,`];
    const future = await importList(dated, { effectiveAt: later });
    expect(future).toMatchObject({ added: 2, removed: 3 });
    const next = await importList([...dated, `${b},service,,,`], { effectiveAt: new Date('2001-01-01T00:00:00Z') });
    const [stored] = await on.place.admin<{ effective_at: Date }>(
      'select effective_at from catalog.product_code_versions where version = $1',
      [next.version],
    );
    expect(stored?.effective_at).toEqual(later);
    // Whoever imports is told, also when a later day than was asked for is the reason that nothing seems to happen.
    expect([future.effectiveAt, next.effectiveAt]).toEqual([later, later]);
    expect(await importList([...dated, `${b},service,,,`])).toMatchObject({ isNew: false, effectiveAt: later });
    expect((await classOf(a)).version).toBe('2');
    on.clock.set(later);
    expect((await classOf(a)).class).toBe('vision');
    // Of two versions that take effect at one moment, the later one.
    expect(await classOf(b)).toEqual({ class: 'service', version: String(next.version) });
    on.clock.set(new Date('2200-01-01T00:00:00Z'));
    expect((await classOf(a)).class).toBe('prescription');
  });

  it('rejects invalid lines by number and keeps the others; of two lines with one code the last counts', async () => {
    const lines = [
      header,
      `036000291453,vision,,,`,
      `${c},magic,,,`,
      `${c},vision,soon,,`,
      `${c},vision,2026-02-30,,`,
      `${c},vision,2026-03-01,2026-03-01,`,
      `${c},service,,,`,
      `${c},vision,,,`,
    ];
    const made = await importList(lines);
    expect(made).toMatchObject({ total: 1, rejected: 5 });
    expect(made.rejections.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6]);
  });

  it('rejects a line that a stray quote has joined with the next ones, and says so [D14.49]', async () => {
    const made = await importList([header, `${d},vision,,,`, `${a},vision,,,5" tape`, `${b},vision,,,6" tape`]);
    expect(made).toMatchObject({ total: 1, rejected: 1 });
    expect(made.rejections).toEqual([{ line: 3, reason: 'the line has more fields than the first line' }]);
  });

  it('reads eight digits as a GTIN-8 under gtin, and under another name as a UPC-E if they check as one [D14.49]', async () => {
    const both = '10000007';
    expect([gtin14(both), gtin14OfUpc(both)]).toEqual(['00000010000007', '00100000000007']);
    const gtins = async () =>
      (await on.place.admin<{ gtin: string }>('select gtin from catalog.product_codes where version_to is null')).map(
        ({ gtin }) => gtin,
      );
    await importList(['gtin,class', `${both},vision`]);
    expect(await gtins()).toEqual(['00000010000007']);
    await importList(['code,class', `${both},vision`]);
    expect(await gtins()).toEqual(['00100000000007']);
  });

  it('that cannot be read leaves the list as it was [D14.34]', async () => {
    const before = await on.place.admin('select count(*) from catalog.product_codes where version_to is null');
    await expect(importList([])).rejects.toThrow('the list is empty');
    await expect(importList(['name,price', 'a,b'])).rejects.toThrow('must have the columns');
    await expect(importList([header])).rejects.toThrow('the list contains no valid code, so nothing was changed');
    await expect(importList([header, '036000291453,vision,,,'])).rejects.toThrow(
      'nothing was changed; line 2: the code is not a UPC or GTIN with a valid check digit',
    );
    async function* binary() {
      yield Buffer.concat([Buffer.from(`${header}\n${d},vision,`), Buffer.from([0xff, 0xfe])]);
    }
    await expect(importList([], { source: binary() })).rejects.toThrow('the list is not UTF-8 text');
    async function* broken() {
      yield `${header}\n${d},vision,,,\n`;
      throw new Error('the source broke off');
    }
    await expect(importList([], { source: broken() })).rejects.toThrow('the source broke off');
    expect(await on.place.admin('select count(*) from catalog.product_codes where version_to is null')).toEqual(before);
  });

  it('waits for another one for five seconds, and then says that it is in progress', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    async function* slow() {
      begun.resolve();
      yield `${header}\n${d},vision,,,\n`;
      await ended.promise;
    }
    const first = importList([], { source: slow() });
    await begun.promise;
    await expect(importList([header, `${d},vision,,,`])).rejects.toThrow('another import is in progress');
    ended.resolve();
    expect((await first).total).toBe(1);
  });

  it('tells how far it is', async () => {
    const told: string[] = [];
    const rows = Array.from({ length: 45_000 }, (_, index) => `${upc(index)},vision,,,`);
    await importList([header, ...rows], {
      source: chunksOf([header, ...rows].join('\n'), 65_536),
      onProgress: ({ phase, rows: read }) => told.push(`${phase} ${read}`),
    });
    expect(told).toEqual(['reading 20000', 'reading 40000', 'reading 45000', 'comparing 45000']);
  });
});

describe('a question about a bare code', () => {
  it('with a wrong check digit is refused at its place [END-1]', async () => {
    const items = [{ item: { case: 'gtin', value: '036000291453' } } as const];
    expect(await refusalOf(on.gateway.evaluateEligibility({ items }, on.account()))).toEqual([
      ['body.items.0.gtin', 'product_code_invalid'],
    ]);
  });
});
