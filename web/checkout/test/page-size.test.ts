import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { buildPage } from '../../../scripts/bootstrap/build-page.mjs';
import { stripeScriptUrl } from '../src/document.ts';

const root = join(import.meta.dirname, '../../..');
const dist = join(root, 'web/checkout/dist');
const frames = ['fields.html', 'challenge.html'];

beforeAll(() => buildPage(root), 60_000);

it('has at most 60 kB of script, compressed, for the page and the card fields together [D14.82]', () => {
  const files = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.js'));
  const scripts = [
    ...files.map((name) => readFileSync(join(dist, 'assets', name))),
    ...frames.map((name) => Buffer.from(insideOf('script', name).join(''))),
  ];
  const bytes = scripts.map((script) => gzipSync(script).length);
  expect(bytes.length).toBeGreaterThanOrEqual(3);
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(60_000);
});

it('loads the release of Stripe.js that belongs to the version of Stripe’s API that the server speaks [D14.110]', () => {
  const version = readFileSync(join(root, 'node_modules/stripe/esm/apiVersion.js'), 'utf8');
  const [, release] = /ApiMajorVersion = '(\w+)'/.exec(version) ?? [];
  expect(stripeScriptUrl).toBe(`https://js.stripe.com/${release}/stripe.js`);
});

it('holds no script or style inside its document, and one of each in those of its frames, which load nothing from elsewhere [D14.82]', () => {
  for (const name of ['index.html', ...frames]) {
    const text = readFileSync(join(dist, name), 'utf8');
    expect(text).not.toMatch(/style=|\son\w+=|https?:\/\//);
    if (frames.includes(name)) {
      expect([insideOf('script', name), insideOf('style', name)].map(({ length }) => length)).toEqual([1, 1]);
      expect(text).not.toMatch(/\s(?:src|href)=/);
      continue;
    }
    expect(text).not.toContain('<style');
    for (const [tag] of text.matchAll(/<script[^>]*>/g)) expect(tag).toMatch(/ src="\.\/assets\//);
  }
});

function insideOf(element: string, name: string): string[] {
  const text = readFileSync(join(dist, name), 'utf8');
  return [...text.matchAll(new RegExp(`<${element}>(.*?)</${element}>`, 'gs'))].map(([, content = '']) => content);
}
