import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { buildPage } from '../../../scripts/bootstrap/build-page.mjs';
import { stripeScriptUrl } from '../src/stripe-js.ts';

const root = join(import.meta.dirname, '../../..');
const dist = join(root, 'web/checkout/dist');

beforeAll(() => buildPage(root), 60_000);

it('has at most 60 kB of script, compressed, for the page and the card fields together [D14.82]', () => {
  const scripts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.js'));
  const bytes = scripts.map((name) => gzipSync(readFileSync(join(dist, 'assets', name))).length);
  expect(bytes.length).toBeGreaterThanOrEqual(2);
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(60_000);
});

it('loads the release of Stripe.js that belongs to the version of Stripe’s API that the server speaks [D14.110]', () => {
  const version = readFileSync(join(root, 'node_modules/stripe/esm/apiVersion.js'), 'utf8');
  const [, release] = /ApiMajorVersion = '(\w+)'/.exec(version) ?? [];
  expect(stripeScriptUrl).toBe(`https://js.stripe.com/${release}/stripe.js`);
});

it('holds no script or style inside its documents, and loads nothing from elsewhere [D14.82]', () => {
  for (const name of ['index.html', 'fields.html', 'challenge.html']) {
    const text = readFileSync(join(dist, name), 'utf8');
    expect(text).not.toMatch(/<style|style=|\son\w+=|https?:\/\//);
    for (const [tag] of text.matchAll(/<script[^>]*>/g)) expect(tag).toMatch(/ src="\.\/assets\//);
  }
});
